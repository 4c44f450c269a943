package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toQuery(q sdk.Query) *twgpb.Query {
	return &twgpb.Query{Stream: toStream(q.Stream), At: twgpb.StartAt(q.At), TimestampMs: q.TimestampMS}
}

func fromQuery(q *twgpb.Query) (sdk.Query, error) {
	stream, err := fromStream(q.GetStream())
	if err != nil {
		return sdk.Query{}, err
	}
	at, err := fromStartAt(q.At)
	return sdk.Query{Stream: stream, At: at, TimestampMS: q.TimestampMs}, err
}

func toResolved(r sdk.Resolved) *twgpb.ResolvedPosition {
	return &twgpb.ResolvedPosition{Stream: toStream(r.Stream), Position: r.Position}
}

func fromResolved(r *twgpb.ResolvedPosition) (sdk.Resolved, error) {
	stream, err := fromStream(r.GetStream())
	if err == nil && (r.Position < 0 || r.Position > sdk.MaxPosition) {
		err = violation("%s was resolved to %d, which is no position", stream, r.Position)
	}
	return sdk.Resolved{Stream: stream, Position: r.GetPosition()}, err
}
