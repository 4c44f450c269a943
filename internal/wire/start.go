package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toStart(s sdk.Start) *twgpb.StartRun {
	return &twgpb.StartRun{Stream: toStream(s.Stream), Run: s.Run, Epoch: toEpoch(s.Epoch), Position: s.Position, Cursor: s.Cursor}
}

func fromStart(s *twgpb.StartRun) (sdk.Start, error) {
	stream, err := fromStream(s.GetStream())
	if err != nil {
		return sdk.Start{}, err
	}
	epoch, err := fromEpoch(s.Epoch)
	if err != nil {
		return sdk.Start{}, err
	}
	return sdk.Start{Stream: stream, Run: s.Run, Epoch: epoch, Position: s.Position, Cursor: s.Cursor}, nil
}
