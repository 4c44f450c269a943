package lanes

import (
	"context"
	"strings"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// PlanWindows implements sdk.RecoveryStore: one commit, however many.
func (s *Store) PlanWindows(ctx context.Context, lane string, ws []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	op := "plan windows of lane " + lane
	for _, w := range ws {
		if err := checkPlanned(lane, w); err != nil {
			return nil, sdk.Errorf(sdk.KindOf(err), op, "%w", err)
		}
	}
	var out []sdk.RecoveryWindow
	err := s.change(ctx, op, func(st *state, e *entry) error {
		out = nil
		taken := st.taken(lane)
		for _, w := range ws {
			set := taken[w.Stream]
			if set == nil {
				set = &coverage.Set{}
				taken[w.Stream] = set
			}
			i := coverage.Interval{From: w.From, Next: w.Next}
			if len(set.HeldWithin(i)) > 0 {
				continue
			}
			set.AddHeld(i)
			out = append(out, e.add(sdk.RecoveryWindow{Lane: lane, Window: w.Window, State: w.State, RetrySetAside: w.RetrySetAside}))
		}
		return nil
	})
	faultpoint.Hit("plan")
	if err != nil {
		return nil, err
	}
	return out, nil
}

func checkPlanned(lane string, w sdk.RecoveryWindow) error {
	if err := checkLane(lane); err != nil {
		return rejected("%w", err)
	}
	if _, err := interval(w.From, w.Next); err != nil {
		return rejected("window of %s: %w", w.Stream, err)
	}
	if w.State != sdk.WindowOpen && w.State != sdk.WindowUnrecoverable {
		return rejected("window [%d,%d) of %s: it cannot begin as %s", w.From, w.Next, w.Stream, w.State)
	}
	return footer.CheckStream(w.Stream)
}

// add gives w an id and adds it.
func (e *entry) add(w sdk.RecoveryWindow) sdk.RecoveryWindow {
	w.ID, w.Lease = e.nextID, sdk.NoClock
	e.nextID++
	e.windows = append(e.windows, w)
	return w
}

// taken is what the windows of a lane occupy.
func (st *state) taken(lane string) map[sdk.Stream]*coverage.Set {
	out := map[sdk.Stream]*coverage.Set{}
	for _, w := range st.sorted(func(w *sdk.RecoveryWindow) bool { return w.Lane == lane }) {
		if out[w.Stream] == nil {
			out[w.Stream] = &coverage.Set{}
		}
		out[w.Stream].AddHeld(coverage.Interval{From: w.From, Next: w.Next})
	}
	return out
}

// Windows implements sdk.RecoveryStore.
func (s *Store) Windows(ctx context.Context, lane string) ([]sdk.RecoveryWindow, error) {
	var out []sdk.RecoveryWindow
	err := s.read(ctx, "list windows of lane "+lane, func(st *state) {
		out = st.sorted(func(w *sdk.RecoveryWindow) bool { return w.Lane == lane })
	})
	return out, err
}

// ClaimWindow implements sdk.RecoveryStore. There is no clock here: a window
// that somebody has is given only to who names the version of its lease.
func (s *Store) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	op := "claim window of lane " + c.Lane
	if err := s.beRecoveryHost(ctx, op, c.Holder); err != nil {
		return nil, err
	}
	var out *sdk.RecoveryWindow
	err := s.change(ctx, op, func(st *state, e *entry) error {
		if out = st.claimable(c); out == nil {
			return nil
		}
		out.State, out.Holder = sdk.WindowClaimed, strings.ToValidUTF8(c.Holder, "?")
		out.Fence++
		out.LeaseVersion++
		e.windows = append(e.windows, *out)
		return nil
	})
	faultpoint.Hit("claim")
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claimable returns a copy of the window that c may have; nil: none. Of those
// that are open it is the one that was planned first.
func (st *state) claimable(c sdk.WindowClaim) *sdk.RecoveryWindow {
	var out *sdk.RecoveryWindow
	for _, w := range st.windows {
		free := w.State == sdk.WindowOpen && (c.ID == 0 || c.ID == w.ID) ||
			w.State == sdk.WindowClaimed && c.ID == w.ID && c.LeaseVersion == w.LeaseVersion
		if w.Lane == c.Lane && free && (out == nil || w.ID < out.ID) {
			out = w
		}
	}
	if out == nil {
		return nil
	}
	found := *out
	return &found
}

// fenced returns a copy of the window, if the fence is its own.
func (st *state) fenced(id, fence uint64) (*sdk.RecoveryWindow, error) {
	w := st.windows[id]
	switch {
	case w == nil:
		return nil, sdk.Errorf(sdk.KindFenced, "", "window %d is complete, or was never planned", id)
	case w.State != sdk.WindowClaimed || w.Fence != fence:
		return nil, sdk.Errorf(sdk.KindFenced, "", "window %d is %s with fence %d (holder %q), the call has fence %d", id, w.State, w.Fence, w.Holder, fence)
	}
	found := *w
	return &found, nil
}

// RenewWindow implements sdk.RecoveryStore. How long the lease is to last is
// the business of whoever watches it.
func (s *Store) RenewWindow(ctx context.Context, id, fence uint64) (version uint64, err error) {
	err = s.change(ctx, "renew window", func(st *state, e *entry) error {
		w, err := st.fenced(id, fence)
		if err != nil {
			return err
		}
		w.LeaseVersion++
		version = w.LeaseVersion
		e.windows = append(e.windows, *w)
		return nil
	})
	return version, err
}
