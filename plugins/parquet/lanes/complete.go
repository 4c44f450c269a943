package lanes

import (
	"context"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// CompleteWindow implements sdk.RecoveryStore. raw is what raw holds of the
// window's stream, read after the work was done.
func (s *Store) CompleteWindow(ctx context.Context, c sdk.WindowCompletion, raw *coverage.Set) error {
	err := s.change(ctx, "complete window", func(st *state, e *entry) error {
		w, err := st.fenced(c.ID, c.Fence)
		if err != nil {
			return err
		}
		return st.complete(w, c, raw, e)
	})
	faultpoint.Hit("complete")
	return err
}

// Stream returns the stream of a window; false: there is no such window.
func (s *Store) Stream(ctx context.Context, id uint64) (stream sdk.Stream, found bool, err error) {
	err = s.read(ctx, "look for window", func(st *state) {
		if w := st.windows[id]; w != nil {
			stream, found = w.Stream, true
		}
	})
	return stream, found, err
}

// complete ends a claim: what is left of the window is open again, and what
// raw no longer has stands apart.
func (st *state) complete(w *sdk.RecoveryWindow, c sdk.WindowCompletion, raw *coverage.Set, e *entry) error {
	whole := coverage.Interval{From: w.From, Next: w.Next}
	p := st.part(key{w.Lane, w.Stream})
	done, err := p.done(w, c.Done, raw)
	if err != nil {
		return err
	}
	lost := p.lost(c.Unrecoverable, whole, done)
	left := false
	for _, i := range lost.Missing(whole) { // what lies between what is lost
		if open := done.Missing(i); len(open) > 0 {
			e.reopen(*w, coverage.Interval{From: open[0].From, Next: open[len(open)-1].Next}, left)
			left = true
		}
	}
	if !left {
		e.gone = append(e.gone, w.ID)
	}
	for _, i := range lost.Held() {
		e.add(sdk.RecoveryWindow{Lane: w.Lane, Window: sdk.Window{Stream: w.Stream, From: i.From, Next: i.Next},
			State: sdk.WindowUnrecoverable, RetrySetAside: w.RetrySetAside})
	}
	return nil
}

// done is what is done of w. What raw holds has to be in the lane's coverage:
// a completion must not make anybody forget it.
func (p *part) done(w *sdk.RecoveryWindow, is []coverage.Interval, raw *coverage.Set) (*coverage.Set, error) {
	done := &coverage.Set{}
	for _, i := range is {
		i = cut(i, coverage.Interval{From: w.From, Next: w.Next})
		for _, h := range raw.HeldWithin(i) {
			if open := p.unresolved(h); len(open) > 0 {
				return nil, rejected("[%d,%d) of window %d is said to be done, and lane %s does not have it: record its coverage first", open[0].From, open[0].Next, w.ID, w.Lane)
			}
		}
		done.AddHeld(i)
	}
	return done, nil
}

// lost is what raw no longer has and the lane does not have either. What the
// lane has of it counts as done.
func (p *part) lost(is []coverage.Interval, whole coverage.Interval, done *coverage.Set) *coverage.Set {
	lost := &coverage.Set{}
	for _, i := range is {
		for _, open := range done.Missing(cut(i, whole)) {
			for _, l := range p.unresolved(open) {
				lost.AddHeld(l)
			}
		}
	}
	for _, i := range is {
		for _, d := range lost.Missing(cut(i, whole)) {
			done.AddHeld(d)
		}
	}
	return lost
}

// reopen opens the part i of w, which keeps its id unless an earlier part has
// it.
func (e *entry) reopen(w sdk.RecoveryWindow, i coverage.Interval, another bool) {
	w.From, w.Next, w.State, w.Holder = i.From, i.Next, sdk.WindowOpen, ""
	if another {
		w.Fence, w.LeaseVersion = 0, 0
		e.add(w)
		return
	}
	w.LeaseVersion++
	e.windows = append(e.windows, w)
}

func cut(i, whole coverage.Interval) coverage.Interval {
	return coverage.Interval{From: max(i.From, whole.From), Next: min(i.Next, whole.Next)}
}
