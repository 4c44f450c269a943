package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toStart(s sdk.Start) *twgpb.StartRun {
	out := &twgpb.StartRun{Stream: toStream(s.Stream), Run: s.Run, Epoch: toEpoch(s.Epoch), Position: s.Position, Cursor: s.Cursor}
	if s.KnownAs != (sdk.Stream{}) {
		out.KnownAs = toStream(s.KnownAs)
	}
	return out
}

func fromStart(s *twgpb.StartRun) (out sdk.Start, err error) {
	out = sdk.Start{Run: s.Run, Position: s.Position, Cursor: s.Cursor}
	if out.Stream, err = fromStream(s.GetStream()); err != nil {
		return out, err
	}
	if s.KnownAs != nil {
		if out.KnownAs, err = fromStream(s.KnownAs); err != nil {
			return out, err
		}
	}
	out.Epoch, err = fromEpoch(s.Epoch)
	return out, err
}
