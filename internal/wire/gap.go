package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toGap(g sdk.Gap) *twgpb.Gap {
	return &twgpb.Gap{Stream: toStream(g.Stream), Run: g.Run, Wanted: g.Wanted, Available: g.Available, Cause: twgpb.GapCause(g.Cause), Reason: text(g.Reason)}
}

func fromGap(g *twgpb.Gap) (sdk.Gap, error) {
	stream, err := fromStream(g.GetStream())
	out := sdk.Gap{Stream: stream, Run: g.GetRun(), Wanted: g.GetWanted(), Available: g.GetAvailable(), Cause: sdk.GapOutOfRange, Reason: g.GetReason()}
	if g.GetCause() == twgpb.GapCause_GAP_CAUSE_DIVERGED {
		out.Cause = sdk.GapDiverged
	}
	return out, err
}
