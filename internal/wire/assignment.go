package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toAssignment(a sdk.Assignment) *twgpb.Assignment {
	return &twgpb.Assignment{Stream: toStream(a.Stream), Committed: a.Committed, CommittedIncarnation: []byte(a.CommittedIncarnation),
		Initial: twgpb.StartAt(a.Initial), TimestampMs: a.TimestampMS, Marked: a.Marked}
}

func fromAssignment(a *twgpb.Assignment) (sdk.Assignment, error) {
	stream, err := fromStream(a.GetStream())
	if err != nil {
		return sdk.Assignment{}, err
	}
	initial, err := fromStartAt(a.Initial)
	if err != nil {
		return sdk.Assignment{}, err
	}
	if a.Committed < sdk.NoPosition || a.Committed > sdk.MaxPosition {
		return sdk.Assignment{}, violation("%s has the committed position %d, which is none", stream, a.Committed)
	}
	return sdk.Assignment{Stream: stream, Committed: a.Committed, CommittedIncarnation: string(a.CommittedIncarnation),
		Initial: initial, TimestampMS: a.TimestampMs, Marked: a.Marked}, nil
}

func fromStartAt(s twgpb.StartAt) (sdk.StartAt, error) {
	if s < twgpb.StartAt_START_AT_EARLIEST || s > twgpb.StartAt_START_AT_TIMESTAMP {
		return 0, violation("symbolic position %d is not known", s)
	}
	return sdk.StartAt(s), nil
}
