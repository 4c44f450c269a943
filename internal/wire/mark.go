package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toMark(m sdk.Mark) *twgpb.Mark {
	return &twgpb.Mark{Stream: toStream(m.Stream), Run: m.Run, Next: m.Next}
}

func fromMark(m *twgpb.Mark) (sdk.Mark, error) {
	stream, err := fromStream(m.GetStream())
	if err == nil && (m.Next < 0 || m.Next > sdk.MaxPosition) {
		err = violation("%s: %d is to be committed, which is no position", stream, m.Next)
	}
	return sdk.Mark{Stream: stream, Run: m.GetRun(), Next: m.GetNext()}, err
}

// toCommitted answers marks with what Commit returned for them.
func toCommitted(request uint64, marks []sdk.Mark, errs []error) *twgpb.Committed {
	out := &twgpb.Committed{Request: request, Marks: make([]*twgpb.CommittedMark, len(marks))}
	for i, m := range marks {
		out.Marks[i] = &twgpb.CommittedMark{Stream: toStream(m.Stream), Run: m.Run, Next: m.Next}
		if i < len(errs) {
			out.Marks[i].Error = toError(errs[i])
		}
	}
	return out
}

// fromCommitted is what Commit returns for marks. An answer to anything else
// than what was asked is a protocol error.
func fromCommitted(marks []sdk.Mark, c *twgpb.Committed) ([]error, error) {
	if len(c.Marks) != len(marks) {
		return nil, violation("%d marks are answered of %d that were to be committed", len(c.Marks), len(marks))
	}
	var errs []error
	for i, m := range c.Marks {
		if stream, err := fromStream(m.GetStream()); err != nil || stream != marks[i].Stream || m.Run != marks[i].Run || m.Next != marks[i].Next {
			return nil, violation("entry %d of Committed answers another mark than %s, run %d, position %d", i, marks[i].Stream, marks[i].Run, marks[i].Next)
		}
		if m.Error == nil {
			continue
		}
		if errs == nil {
			errs = make([]error, len(marks))
		}
		errs[i] = fromError(m.Error)
	}
	return errs, nil
}
