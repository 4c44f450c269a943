package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toLag(l sdk.Lag) *twgpb.StreamEnd {
	return &twgpb.StreamEnd{Stream: toStream(l.Stream), Run: l.Run, End: l.End, AtMs: l.AtMS}
}

func fromLag(l *twgpb.StreamEnd) (sdk.Lag, error) {
	stream, err := fromStream(l.GetStream())
	return sdk.Lag{Stream: stream, Run: l.GetRun(), End: l.GetEnd(), AtMS: l.GetAtMs()}, err
}
