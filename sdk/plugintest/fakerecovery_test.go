package plugintest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeLane is what the fake's store has of a stream in a lane besides raw.
type fakeLane struct {
	Lane     string
	Stream   sdk.Stream
	Held     []coverage.Interval
	Void     []coverage.Void
	SetAside []coverage.Interval
	Floor    int64
}

// fakeWindow is a window and when its lease ends.
type fakeWindow struct {
	sdk.RecoveryWindow
	Until time.Time
}

func (s *fakeState) lane(lane string, stream sdk.Stream) *fakeLane {
	for _, x := range s.Lanes {
		if x.Lane == lane && x.Stream == stream {
			return x
		}
	}
	x := &fakeLane{Lane: lane, Stream: stream}
	s.Lanes = append(s.Lanes, x)
	return x
}

func (l *fakeLane) coverage() sdk.StreamCoverage {
	out := sdk.StreamCoverage{Stream: l.Stream, Set: (&fakeStream{Held: l.Held, Void: l.Void}).set()}
	var aside coverage.Set
	for _, i := range l.SetAside {
		for _, m := range out.Set.Missing(i) {
			aside.AddHeld(m)
		}
	}
	out.SetAside = aside.Held()
	return out
}

func (s *fakeSink) recordLane(st *fakeState, lane string, r sdk.CoverageRecord) error {
	if e := st.of(r.Stream).Epoch; !r.Epoch.IsZero() && r.Epoch != e {
		return errFenced
	}
	l := st.lane(lane, r.Stream)
	if s.wrong("overwrites") {
		l.Held = nil
	}
	l.Held, l.Void, l.SetAside = append(l.Held, r.Held...), append(l.Void, r.Void...), append(l.SetAside, r.SetAside...)
	l.Floor = max(l.Floor, r.LiveFloor)
	if s.wrong("lowers") {
		l.Floor = r.LiveFloor
	}
	st.Windows = slices.DeleteFunc(st.Windows, func(w *fakeWindow) bool {
		return w.State == sdk.WindowUnrecoverable && w.Lane == lane && w.Stream == r.Stream && l.coverage().Set.Covers(interval(w.From, w.Next))
	})
	return nil
}

func (s *fakeSink) Streams(context.Context) (out []sdk.Stream, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, x := range st.Streams {
			out = append(out, x.Stream)
		}
		if s.wrong("forgetful") {
			out = out[:1]
		}
		return nil
	})
}

func (s *fakeSink) Floors(_ context.Context, lane string, streams []sdk.Stream) (out []sdk.Floors, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, x := range streams {
			out = append(out, sdk.Floors{Stream: x, Live: st.lane(lane, x).Floor, Raw: st.of(x).RawFloor})
		}
		return nil
	})
}

func (s *fakeSink) PlanWindows(_ context.Context, lane string, ws []sdk.RecoveryWindow) (out []sdk.RecoveryWindow, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, w := range ws {
			overlaps := slices.ContainsFunc(st.Windows, func(o *fakeWindow) bool {
				return o.Lane == lane && o.Stream == w.Stream && o.From < w.Next && w.From < o.Next
			})
			if overlaps && !s.wrong("overplans") {
				continue
			}
			st.LastID++
			n := sdk.RecoveryWindow{ID: st.LastID, Lane: lane, Window: w.Window, State: w.State, RetrySetAside: w.RetrySetAside}
			st.Windows, out = append(st.Windows, &fakeWindow{RecoveryWindow: n}), append(out, n)
		}
		return nil
	})
}

func (s *fakeSink) Windows(_ context.Context, lane string) (out []sdk.RecoveryWindow, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, w := range st.Windows {
			if w.Lane == lane {
				w.Lease = max(0, time.Until(w.Until))
				out = append(out, w.RecoveryWindow)
			}
		}
		slices.SortFunc(out, func(a, b sdk.RecoveryWindow) int {
			return cmp.Or(cmp.Compare(a.Stream.Partition, b.Stream.Partition), cmp.Compare(a.From, b.From))
		})
		return nil
	})
}

func (s *fakeSink) ClaimWindow(_ context.Context, c sdk.WindowClaim) (out *sdk.RecoveryWindow, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, w := range st.Windows {
			free := w.State == sdk.WindowOpen || w.State == sdk.WindowClaimed && (time.Now().After(w.Until) || s.wrong("double"))
			if c.ID != 0 {
				free = w.ID == c.ID && w.LeaseVersion == c.LeaseVersion && w.State != sdk.WindowUnrecoverable
			}
			if w.Lane != c.Lane || !free {
				continue
			}
			w.State, w.Holder, w.Until, w.Lease = sdk.WindowClaimed, c.Holder, time.Now().Add(c.TTL), c.TTL
			w.Fence, w.LeaseVersion = w.Fence+1, w.LeaseVersion+1
			if s.wrong("samefence") {
				w.Fence = 1
			}
			out = &w.RecoveryWindow
			return nil
		}
		return nil
	})
}

func (s *fakeState) leased(id, fence uint64, anyFence bool) (*fakeWindow, error) {
	for _, w := range s.Windows {
		if w.ID == id && w.State == sdk.WindowClaimed && (w.Fence == fence || anyFence) {
			return w, nil
		}
	}
	return nil, sdk.Errorf(sdk.KindFenced, "", "the lease of window %d is another's", id)
}

func (s *fakeSink) RenewWindow(_ context.Context, id, fence uint64, ttl time.Duration) (version uint64, err error) {
	return version, s.transaction(func(st *fakeState) error {
		w, err := st.leased(id, fence, s.wrong("renewsany"))
		if err != nil {
			return err
		}
		w.LeaseVersion, w.Until = w.LeaseVersion+1, time.Now().Add(ttl)
		version = w.LeaseVersion
		return nil
	})
}

func (s *fakeSink) CompleteWindow(_ context.Context, c sdk.WindowCompletion) error {
	return s.transaction(func(st *fakeState) error {
		w, err := st.leased(c.ID, c.Fence, s.wrong("completesany"))
		if err != nil {
			return err
		}
		var gone coverage.Set
		for _, i := range slices.Concat(c.Done, c.Unrecoverable) {
			gone.AddHeld(i)
		}
		left := gone.Missing(interval(w.From, w.Next))
		w.State, w.LeaseVersion = sdk.WindowOpen, w.LeaseVersion+1
		if len(left) == 0 {
			st.Windows = slices.DeleteFunc(st.Windows, func(o *fakeWindow) bool { return o == w })
		} else {
			w.From, w.Next = left[0].From, left[len(left)-1].Next
		}
		for _, u := range c.Unrecoverable {
			if s.wrong("forgetslost") {
				continue
			}
			st.LastID++
			st.Windows = append(st.Windows, &fakeWindow{RecoveryWindow: sdk.RecoveryWindow{ID: st.LastID, Lane: w.Lane, State: sdk.WindowUnrecoverable,
				Window: sdk.Window{Stream: w.Stream, From: u.From, Next: u.Next}}})
		}
		return nil
	})
}

func (s *fakeSink) Prune(_ context.Context, ps []sdk.Prune, dryRun bool) (out []sdk.Pruned, err error) {
	return out, s.transaction(func(st *fakeState) error {
		for _, p := range ps {
			x := st.of(p.Stream)
			floor := min(p.Below, x.set().FirstHole())
			if s.wrong("prunesall") {
				floor = min(p.Below, x.set().End())
			}
			for _, r := range x.Rows {
				if !p.OlderThan.IsZero() && r.TimestampMS >= p.OlderThan.UnixMilli() {
					floor = min(floor, r.Position)
				}
			}
			gone := func(r frame.Record) bool { return r.Position < floor }
			n := len(x.Rows) - len(slices.DeleteFunc(slices.Clone(x.Rows), gone))
			out = append(out, sdk.Pruned{Stream: p.Stream, RawFloor: max(floor, x.RawFloor), Rows: int64(n)})
			if !dryRun {
				x.Rows, x.RawFloor = slices.DeleteFunc(x.Rows, gone), max(floor, x.RawFloor)
			}
		}
		return nil
	})
}

// seen is what whoever reads raw sees: what was pruned is void.
func (s *fakeStream) seen() *coverage.Set {
	out := &coverage.Set{}
	all := s.set()
	for _, i := range all.Held() {
		out.AddVoid(coverage.Void{Interval: interval(i.From, min(i.Next, s.RawFloor)), Reason: coverage.Pruned})
		out.AddHeld(interval(max(i.From, s.RawFloor), i.Next))
	}
	for _, v := range all.Voids() {
		out.AddVoid(v)
	}
	return out
}

func (s *fakeSink) Replay(_ context.Context, w sdk.Window, f func(*sdk.Batch) error) (read []sdk.Span, err error) {
	var x *fakeStream
	if err := s.transaction(func(st *fakeState) error { x = st.of(w.Stream); return nil }); err != nil {
		return nil, err
	}
	for _, h := range x.seen().HeldWithin(interval(w.From, w.Next)) {
		if s.wrong("overreads") {
			h.Next = w.Next
		}
		for from := h.From; from < h.Next; from += 1000 {
			b, err := x.batch(from, min(from+1000, h.Next), s.wrong("swallows"))
			if err != nil {
				return nil, err
			}
			if err := f(b); err != nil {
				return nil, err
			}
		}
		read = append(read, sdk.Span{Stream: w.Stream, From: h.From, Next: h.Next})
	}
	return read, nil
}

// batch is the rows of [from, next).
func (s *fakeStream) batch(from, next int64, swallows bool) (*sdk.Batch, error) {
	rows := slices.Clone(s.Rows)
	slices.SortFunc(rows, func(a, b frame.Record) int { return cmp.Compare(a.Position, b.Position) })
	var b frame.Builder
	k := b.Stream(s.Stream)
	for _, r := range rows {
		if r.Position >= from && r.Position < next && !(swallows && r.Value == nil) {
			b.Append(k, &r)
		}
	}
	buf, err := b.Encode(nil)
	if err != nil {
		return nil, err
	}
	out := &sdk.Batch{Spans: []sdk.Span{{Stream: s.Stream, From: from, Next: next}}}
	if out.Frame, err = frame.Open(buf); err != nil {
		return nil, err
	}
	var h recordid.Hasher
	out.IDs, err = h.Fill(nil, out.Frame)
	return out, err
}
