package wire

import (
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

var windowStates = map[sdk.WindowState]twgpb.WindowState{
	sdk.WindowOpen:          twgpb.WindowState_WINDOW_STATE_OPEN,
	sdk.WindowClaimed:       twgpb.WindowState_WINDOW_STATE_CLAIMED,
	sdk.WindowUnrecoverable: twgpb.WindowState_WINDOW_STATE_UNRECOVERABLE,
}

func toWindow(w sdk.RecoveryWindow) *twgpb.RecoveryWindow {
	lease := int64(-1)
	if w.Lease != sdk.NoClock {
		lease = w.Lease.Milliseconds()
	}
	return &twgpb.RecoveryWindow{
		Id: w.ID, Lane: w.Lane, Stream: toStream(w.Stream), From: w.From, Next: w.Next, State: windowStates[w.State],
		Holder: text(w.Holder), Fence: w.Fence, LeaseMs: lease, LeaseVersion: w.LeaseVersion, RetrySetAside: w.RetrySetAside,
	}
}

func fromWindow(w *twgpb.RecoveryWindow) (out sdk.RecoveryWindow, err error) {
	if out.Stream, err = fromStream(w.GetStream()); err != nil {
		return out, err
	}
	out.ID, out.Lane, out.From, out.Next = w.Id, w.Lane, w.From, w.Next
	out.State, _ = keyOf(windowStates, w.State) // a state that is not known is taken for open
	out.RetrySetAside = w.RetrySetAside
	out.Holder, out.Fence, out.LeaseVersion, out.Lease = w.Holder, w.Fence, w.LeaseVersion, sdk.NoClock
	if w.LeaseMs >= 0 {
		out.Lease = time.Duration(w.LeaseMs) * time.Millisecond
	}
	return out, checkInterval(coverage.Interval{From: w.From, Next: w.Next})
}

func toFloors(f sdk.Floors) *twgpb.StreamFloors {
	return &twgpb.StreamFloors{Stream: toStream(f.Stream), LiveFloor: f.Live, RawFloor: f.Raw}
}

func fromFloors(f *twgpb.StreamFloors) (sdk.Floors, error) {
	stream, err := fromStream(f.GetStream())
	return sdk.Floors{Stream: stream, Live: f.LiveFloor, Raw: f.RawFloor}, err
}

func toPrune(p sdk.Prune) *twgpb.PruneStream {
	out := &twgpb.PruneStream{Stream: toStream(p.Stream), Below: p.Below}
	if !p.OlderThan.IsZero() {
		out.OlderThanMs = p.OlderThan.UnixMilli()
	}
	return out
}

func fromPrune(p *twgpb.PruneStream) (out sdk.Prune, err error) {
	if out.Stream, err = fromStream(p.GetStream()); err != nil {
		return out, err
	}
	if p.OlderThanMs != 0 {
		out.OlderThan = time.UnixMilli(p.OlderThanMs)
	}
	out.Below = p.Below
	return out, checkInterval(coverage.Interval{Next: p.Below})
}

func toPruned(p sdk.Pruned) *twgpb.PrunedStream {
	return &twgpb.PrunedStream{Stream: toStream(p.Stream), RawFloor: p.RawFloor, Rows: p.Rows}
}

func fromPruned(p *twgpb.PrunedStream) (sdk.Pruned, error) {
	stream, err := fromStream(p.GetStream())
	return sdk.Pruned{Stream: stream, RawFloor: p.RawFloor, Rows: p.Rows}, err
}
