package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// This file is the part of raw's store that has windows and leases.

// simWindow is a window, and what the model knows of it beside the store.
type simWindow struct {
	sdk.RecoveryWindow
	lane    *simLane
	expires time.Time // by the store's clock
	// changed is when its lease changed last, fence the newest claim: what the
	// store should go by.
	changed time.Time
	fence   uint64
}

// now is the store's clock, which somebody may set. The lock is held.
func (s *sim) now() time.Time { return time.Now().Add(s.clock) }

func (r simRaw) PlanWindows(ctx context.Context, lane string, ws []sdk.RecoveryWindow) (out []sdk.RecoveryWindow, _ error) {
	s := r.h.s
	err := r.try(ctx, "plan", lane, func() (err error) {
		l := s.lane(lane)
		real := map[sdk.Window]uint64{}
		if s.mem != nil {
			if out, err = r.h.disk().PlanWindows(ctx, lane, ws); err != nil {
				return err
			}
			for _, n := range out {
				real[n.Window] = n.ID
			}
			out = nil
		}
		for _, n := range ws {
			p := s.byKey[n.Stream]
			if floor := l.part(p).floor; n.Next > floor {
				s.wrong("a window [%d,%d) of %s above the live floor %d of lane %s", n.From, n.Next, p.name, floor, lane)
			}
			if slices.ContainsFunc(l.windows, func(o *simWindow) bool { return o.Stream == n.Stream && o.From < n.Next && n.From < o.Next }) {
				s.step("overlap refused", r.h.name, p, n.From, n.Next)
				continue
			}
			s.seq++
			n.ID, n.Lane, n.Lease = s.seq, lane, 0
			if s.mem != nil {
				n.ID, n.Lease = real[n.Window], sdk.NoClock
			}
			l.windows = append(l.windows, &simWindow{RecoveryWindow: n, lane: l, changed: time.Now()})
			out = append(out, n)
			s.step("window planned", lane, p, n.From, n.Next)
		}
		if s.mem != nil && len(real) != len(out) {
			s.wrong("the store planned %d windows, it should be %d", len(real), len(out))
		}
		return nil
	})
	return out, err
}

// present is a window as the store shows it. The lock is held.
func (s *sim) present(x *simWindow) sdk.RecoveryWindow {
	out := x.RecoveryWindow
	out.Lease = max(x.expires.Sub(s.now()), 0)
	if s.noClock {
		out.Lease = sdk.NoClock
	}
	return out
}

func (r simRaw) Windows(ctx context.Context, lane string) (out []sdk.RecoveryWindow, _ error) {
	s := r.h.s
	err := r.try(ctx, "windows", lane, func() (err error) {
		l := s.lane(lane)
		if s.mem != nil {
			s.follow(r.h, l, true)
			out, err = r.h.disk().Windows(ctx, lane)
			return err
		}
		l.windows = slices.DeleteFunc(l.windows, func(x *simWindow) bool {
			return x.State == sdk.WindowUnrecoverable && len(l.part(s.byKey[x.Stream]).held.Missing(coverage.Interval{From: x.From, Next: x.Next})) == 0
		})
		for _, x := range l.windows {
			out = append(out, s.present(x))
		}
		return nil
	})
	return out, err
}

func (r simRaw) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (out *sdk.RecoveryWindow, _ error) {
	s := r.h.s
	err := r.try(ctx, "claim", c.Lane, func() (err error) {
		if s.mem != nil {
			out, err = r.realClaim(c)
			return err
		}
		for _, x := range s.lane(c.Lane).windows {
			if s.claimable(x, c) {
				s.claim(r.h.name, x, c)
				w := s.present(x)
				out = &w
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// claimable is the store's rule. The lock is held.
func (s *sim) claimable(x *simWindow, c sdk.WindowClaim) bool {
	switch {
	case c.ID != 0:
		return x.ID == c.ID && x.LeaseVersion == c.LeaseVersion && x.State == sdk.WindowClaimed
	case s.bug == "lease-unchecked" && x.State == sdk.WindowClaimed:
		return true
	}
	return x.State == sdk.WindowOpen || x.State == sdk.WindowClaimed && !s.noClock && s.now().After(x.expires)
}

// claim gives a window to a host, and checks that nobody can have it. The lock
// is held.
func (s *sim) claim(who string, x *simWindow, c sdk.WindowClaim) {
	p := s.byKey[x.Stream]
	if x.State == sdk.WindowClaimed {
		s.step("lease expired", who, p, x.From, x.Next)
		switch {
		case c.ID != 0 && time.Since(x.changed) < c.TTL:
			s.wrong("INV6: %s takes a window of %s whose lease changed %v ago, its own lasts %v", who, p.name, time.Since(x.changed), c.TTL)
		case c.ID == 0 && (s.noClock || !s.now().After(x.expires)):
			s.wrong("INV6: %s takes a window of %s whose lease lasts %v", who, p.name, x.expires.Sub(s.now()))
		}
	}
	s.seq++
	x.State, x.Holder, x.expires, x.LeaseVersion = sdk.WindowClaimed, c.Holder, s.now().Add(c.TTL), s.seq
	x.Fence++
	x.changed, x.fence = time.Now(), x.Fence
	s.step("window claimed", who, p, x.From, x.Next)
}

// fenced finds the window of a claim. The lock is held.
func (s *sim) fenced(who string, id, fence uint64) (*simWindow, error) {
	for _, l := range s.lanes {
		for _, x := range l.windows {
			if x.ID == id && (x.Fence == fence || s.bug == "no-fence") && x.State == sdk.WindowClaimed {
				return x, nil
			}
		}
	}
	s.step("window fenced", who, nil, 0, 0)
	return nil, sdk.Errorf(sdk.KindFenced, "", "the window was claimed by another")
}

// place names a window by what does not differ from run to run.
func (s *sim) place(id uint64) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		for _, x := range l.windows {
			if x.ID == id {
				return fmt.Sprint(l.name, x.Stream, x.From)
			}
		}
	}
	return ""
}

func (r simRaw) RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (version uint64, _ error) {
	s := r.h.s
	var fenced error
	err := r.try(ctx, "renew", s.place(id), func() (err error) {
		var x *simWindow
		if s.mem != nil {
			if version, err = r.h.disk().RenewWindow(ctx, id, fence, ttl); err != nil {
				return err
			}
		}
		if x, fenced = s.fenced(r.h.name, id, fence); fenced == nil {
			if s.mem == nil {
				s.seq++
				version = s.seq
			}
			x.LeaseVersion, x.expires, x.changed = version, s.now().Add(ttl), time.Now()
			s.note(simEvent{time.Since(s.began), "lease renewed", r.h.name, s.byKey[x.Stream].name, x.From, x.Next})
		} else if s.mem != nil {
			s.wrong("INV6: the store renews a lease for %s that is another's", r.h.name)
		}
		return nil
	})
	return version, errors.Join(fenced, err)
}

func (r simRaw) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	var fenced error
	err := r.try(ctx, "complete", r.h.s.place(c.ID), func() error {
		var x *simWindow
		if r.h.s.mem != nil {
			if err := r.h.disk().CompleteWindow(ctx, c); err != nil {
				return err
			}
		}
		if x, fenced = r.h.s.fenced(r.h.name, c.ID, c.Fence); fenced == nil {
			r.h.s.finish(r.h.name, x, c)
			if r.h.s.mem != nil {
				r.h.s.follow(r.h, x.lane, false)
			}
		} else if r.h.s.mem != nil {
			r.h.s.wrong("INV6: the store lets %s complete a window that is another's", r.h.name)
		}
		return nil
	})
	if fenced != nil {
		return fenced
	}
	return err
}

// finish checks that the completion is the newest claim's, and that no more is
// done than the lane's coverage has. The lock is held.
func (s *sim) finish(who string, x *simWindow, c sdk.WindowCompletion) {
	l, p := x.lane, s.byKey[x.Stream]
	if c.Fence != x.fence {
		s.wrong("INV6: %s completes a window of %s with fence %d, it was claimed again with %d", who, p.name, c.Fence, x.fence)
	}
	part := l.part(p)
	known := part.held.Clone()
	for _, i := range part.aside.Held() {
		known.AddHeld(i)
	}
	var done coverage.Set
	for _, i := range c.Done {
		done.AddHeld(i)
		for _, n := range known.Missing(i) {
			if held := p.cov.HeldWithin(n); len(held) > 0 {
				s.wrong("a window is complete at %d of %s, which lane %s lacks", held[0].From, p.name, l.name)
			}
		}
	}
	for _, i := range c.Unrecoverable {
		s.step("unrecoverable", who, p, i.From, i.Next)
		done.AddHeld(i)
		s.seq++
		l.windows = append(l.windows, &simWindow{lane: l, RecoveryWindow: sdk.RecoveryWindow{ID: s.seq, Lane: l.name, State: sdk.WindowUnrecoverable,
			Window: sdk.Window{Stream: x.Stream, From: i.From, Next: i.Next}}})
	}
	left := done.Missing(coverage.Interval{From: x.From, Next: x.Next})
	if len(left) == 0 {
		s.step("window completed", who, p, x.From, x.Next)
		l.windows = slices.DeleteFunc(l.windows, func(o *simWindow) bool { return o == x })
		return
	}
	s.step("prefix completed", who, p, x.From, left[0].From)
	x.State, x.From, x.Next = sdk.WindowOpen, left[0].From, left[len(left)-1].Next
}
