package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// mostMemory and mostFrames are beyond any process's: sums of some stay in
// range.
const (
	mostMemory = 1 << 50
	mostFrames = 1 << 10
)

func toMemory(m sdk.Memory) *twgpb.Memory {
	if m == (sdk.Memory{}) {
		return nil
	}
	return &twgpb.Memory{UsualBytes: m.Usual, ExtremeBytes: m.Extreme, Frames: int64(m.Frames), ReplayBytes: m.Replay}
}

// fromMemory takes an amount that is none for the nearest one.
func fromMemory(m *twgpb.Memory) sdk.Memory {
	amount := func(n int64) int64 { return min(max(n, 0), mostMemory) }
	return sdk.Memory{Usual: amount(m.GetUsualBytes()), Extreme: amount(m.GetExtremeBytes()),
		Frames: int(min(amount(m.GetFrames()), mostFrames)), Replay: amount(m.GetReplayBytes())}
}
