package pipeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// chaosLane is a secondary and what raw's store knows of it.
type chaosLane struct {
	name   string
	append bool // it takes a row twice
	poison bool // it refuses some rows for good
	parts  map[sdk.Stream]*lanePart
	// windows are those of the lane, by id.
	windows []*chaosWindow
	down    bool
	// flushes: receipts promise nothing, and what is not flushed is lost with
	// the session, or when the target restarts.
	flushes  bool
	restarts int
}

type lanePart struct {
	rows  map[int64]int
	held  coverage.Set
	aside coverage.Set
	floor int64
}

type chaosWindow struct {
	sdk.RecoveryWindow
	expires time.Time
}

// poisoned are the records that a poisoned lane refuses.
func poisoned(pos int64) bool { return pos%13 == 6 }

// rawFirst gives the world secondaries. noClock: the store has no clock.
func (w *world) rawFirst(lanes int) {
	w.storeless, w.rare = false, 5
	w.noClock = w.rng.IntN(2) == 0
	for i := range lanes {
		l := &chaosLane{name: string(rune('x' + i)), poison: w.rng.IntN(2) == 0, flushes: w.rng.IntN(2) == 0, parts: map[sdk.Stream]*lanePart{}}
		for _, p := range w.parts {
			l.parts[p.key] = &lanePart{rows: map[int64]int{}}
		}
		w.lanes = append(w.lanes, l)
	}
}

func (w *world) lane(name string) *chaosLane {
	for _, l := range w.lanes {
		if l.name == name {
			return l
		}
	}
	return nil
}

// rawCoverage is what raw says it has: what was pruned is void. The lock is
// held.
func (w *world) rawCoverage(p *chaosPart) *coverage.Set {
	out := &coverage.Set{}
	for _, i := range p.cov.Held() {
		out.AddHeld(coverage.Interval{From: max(i.From, p.rawFloor), Next: i.Next})
		if i.From < p.rawFloor {
			out.AddVoid(coverage.Void{Interval: coverage.Interval{From: i.From, Next: min(i.Next, p.rawFloor)}, Reason: coverage.Pruned})
		}
	}
	for _, v := range p.cov.Voids() {
		out.AddVoid(v)
	}
	return out
}

// prune takes rows from raw's beginning, wanted or not.
func (w *world) prune() {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parts[w.rng.IntN(len(w.parts))]
	if w.calm || w.rng.IntN(4) != 0 {
		return
	}
	hole := p.cov.FirstHole()
	p.rawFloor = max(p.rawFloor, min(hole, p.rawFloor+w.rng.Int64N(15)))
	w.did["pruned"]++
	w.note("%s pruned below %d", p.key, p.rawFloor)
}

// chaosRaw is the chaos sink as a primary-raw one.
type chaosRaw struct{ *chaosSink }

func (s chaosRaw) Streams(ctx context.Context) (out []sdk.Stream, _ error) {
	err := s.do(ctx, "streams", func() {
		for _, p := range s.w.parts {
			out = append(out, p.key)
		}
	})
	return out, err
}

func (s chaosRaw) Coverage(ctx context.Context, lane string, ks []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	err := s.do(ctx, "coverage", func() {
		for _, k := range ks {
			c := sdk.StreamCoverage{Stream: k}
			if l := s.w.lane(lane); l != nil {
				c.Set, c.SetAside = l.parts[k].held.Clone(), slices.Clone(l.parts[k].aside.Held())
			} else {
				c.Set = s.w.rawCoverage(s.w.byKey[k])
			}
			out = append(out, c)
		}
	})
	return out, err
}

func (s chaosRaw) Record(ctx context.Context, lane string, rs []sdk.CoverageRecord) (fenced error) {
	l := s.w.lane(lane)
	if l == nil {
		return s.chaosSink.Record(ctx, lane, rs)
	}
	err := s.do(ctx, "record", func() {
		for _, r := range rs {
			if !r.Epoch.IsZero() && r.Epoch != s.w.byKey[r.Stream].epoch {
				fenced = sdk.Errorf(sdk.KindFenced, "record", "stale epoch")
				return
			}
		}
		for _, r := range rs {
			s.w.cover(l, r)
		}
	})
	if fenced != nil {
		return fenced
	}
	return err
}

// cover merges a lane's record, and checks INV8. The lock is held.
func (w *world) cover(l *chaosLane, r sdk.CoverageRecord) {
	p := l.parts[r.Stream]
	for _, i := range r.Held {
		for pos := i.From; pos < i.Next; pos++ {
			if exists(pos) && p.rows[pos] == 0 {
				w.wrong("INV8: lane %s covers %d of %s, which is not there", l.name, pos, r.Stream)
			}
		}
		p.held.AddHeld(i)
	}
	for _, i := range r.SetAside {
		for _, n := range p.held.Missing(i) {
			p.aside.AddHeld(n)
		}
		w.did["set aside"]++
	}
	if hole := w.byKey[r.Stream].cov.FirstHole(); r.LiveFloor > hole {
		w.wrong("the live floor of lane %s is %d of %s, raw has all below %d", l.name, r.LiveFloor, r.Stream, hole)
	}
	p.floor = max(p.floor, r.LiveFloor)
}

func (s chaosRaw) Floors(ctx context.Context, lane string, ks []sdk.Stream) (out []sdk.Floors, _ error) {
	err := s.do(ctx, "floors", func() {
		for _, k := range ks {
			out = append(out, sdk.Floors{Stream: k, Live: s.w.lane(lane).parts[k].floor, Raw: s.w.byKey[k].rawFloor})
		}
	})
	return out, err
}

func (s chaosRaw) PlanWindows(ctx context.Context, lane string, ws []sdk.RecoveryWindow) (out []sdk.RecoveryWindow, _ error) {
	err := s.do(ctx, "plan", func() {
		l := s.w.lane(lane)
		for _, n := range ws {
			if n.Next > l.parts[n.Stream].floor {
				s.w.wrong("a window [%d,%d) of %s above the live floor %d", n.From, n.Next, n.Stream, l.parts[n.Stream].floor)
			}
			if slices.ContainsFunc(l.windows, func(o *chaosWindow) bool { return o.Stream == n.Stream && o.From < n.Next && n.From < o.Next }) {
				s.w.did["overlap refused"]++
				continue
			}
			s.w.seq++
			n.ID, n.Lane, n.Lease = s.w.seq, lane, 0
			l.windows = append(l.windows, &chaosWindow{RecoveryWindow: n})
			out = append(out, n)
		}
	})
	return out, err
}

// present is a window as the store shows it. The lock is held.
func (w *world) present(x *chaosWindow) sdk.RecoveryWindow {
	out := x.RecoveryWindow
	out.Lease = max(time.Until(x.expires), 0)
	if w.noClock {
		out.Lease = sdk.NoClock
	}
	return out
}

func (s chaosRaw) Windows(ctx context.Context, lane string) (out []sdk.RecoveryWindow, _ error) {
	err := s.do(ctx, "windows", func() {
		l := s.w.lane(lane)
		l.windows = slices.DeleteFunc(l.windows, func(x *chaosWindow) bool {
			return x.State == sdk.WindowUnrecoverable && len(l.parts[x.Stream].held.Missing(coverage.Interval{From: x.From, Next: x.Next})) == 0
		})
		for _, x := range l.windows {
			out = append(out, s.w.present(x))
		}
	})
	return out, err
}

func (s chaosRaw) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (out *sdk.RecoveryWindow, _ error) {
	err := s.do(ctx, "claim", func() {
		for _, x := range s.w.lane(c.Lane).windows {
			free := x.State == sdk.WindowOpen || x.State == sdk.WindowClaimed && !s.w.noClock && time.Now().After(x.expires)
			if c.ID != 0 {
				free = x.ID == c.ID && x.LeaseVersion == c.LeaseVersion && x.State == sdk.WindowClaimed
			}
			if !free {
				continue
			}
			if x.State == sdk.WindowClaimed {
				s.w.did["lease expired"]++
			}
			s.w.seq++
			x.State, x.Holder, x.expires, x.LeaseVersion = sdk.WindowClaimed, c.Holder, time.Now().Add(c.TTL), s.w.seq
			x.Fence++
			w := s.w.present(x)
			out = &w
			return
		}
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// fence finds the window of a claim. The lock is held.
func (w *world) fence(id, fence uint64) (*chaosLane, *chaosWindow, error) {
	for _, l := range w.lanes {
		for _, x := range l.windows {
			if x.ID == id && x.Fence == fence && x.State == sdk.WindowClaimed {
				return l, x, nil
			}
		}
	}
	w.did["window fenced"]++
	return nil, nil, sdk.Errorf(sdk.KindFenced, "", "the window was claimed by another")
}

func (s chaosRaw) RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (version uint64, _ error) {
	var fenced error
	err := s.do(ctx, "renew", func() {
		var x *chaosWindow
		if _, x, fenced = s.w.fence(id, fence); fenced == nil {
			s.w.seq++
			x.LeaseVersion, x.expires = s.w.seq, time.Now().Add(ttl)
			version = x.LeaseVersion
		}
	})
	return version, errors.Join(fenced, err)
}

func (s chaosRaw) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	var fenced error
	err := s.do(ctx, "complete", func() {
		var l *chaosLane
		var x *chaosWindow
		if l, x, fenced = s.w.fence(c.ID, c.Fence); fenced == nil {
			s.w.finishWindow(l, x, c)
		}
	})
	if fenced != nil {
		return fenced
	}
	return err
}

// finishWindow checks that no more is done than the lane's coverage has. The
// lock is held.
func (w *world) finishWindow(l *chaosLane, x *chaosWindow, c sdk.WindowCompletion) {
	p := l.parts[x.Stream]
	known := p.held.Clone()
	for _, i := range p.aside.Held() {
		known.AddHeld(i)
	}
	var done coverage.Set
	for _, i := range c.Done {
		done.AddHeld(i)
		for _, n := range known.Missing(i) {
			for pos := n.From; pos < n.Next; pos++ {
				if held := len(w.byKey[x.Stream].cov.HeldWithin(coverage.Interval{From: pos, Next: pos + 1})) > 0; held {
					w.wrong("a window is complete at %d of %s, which lane %s lacks", pos, x.Stream, l.name)
				}
			}
		}
	}
	for _, i := range c.Unrecoverable {
		w.did["unrecoverable"]++
		done.AddHeld(i)
		w.seq++
		l.windows = append(l.windows, &chaosWindow{RecoveryWindow: sdk.RecoveryWindow{ID: w.seq, Lane: l.name, State: sdk.WindowUnrecoverable,
			Window: sdk.Window{Stream: x.Stream, From: i.From, Next: i.Next}}})
	}
	w.did["window completed"]++
	left := done.Missing(coverage.Interval{From: x.From, Next: x.Next})
	if len(left) == 0 {
		l.windows = slices.DeleteFunc(l.windows, func(o *chaosWindow) bool { return o == x })
		return
	}
	w.did["prefix completed"]++
	x.State, x.From, x.Next = sdk.WindowOpen, left[0].From, left[len(left)-1].Next
}

func (s chaosRaw) Prune(context.Context, []sdk.Prune, bool) ([]sdk.Pruned, error) { return nil, nil }

// Replay reads rows one frame at a time; raw may be pruned between them.
func (s chaosRaw) Replay(ctx context.Context, win sdk.Window, f func(*sdk.Batch) error) (read []sdk.Span, _ error) {
	for from := win.From; from < win.Next; {
		next := min(win.Next, from+1+int64(s.w.n(12)))
		var b *sdk.Batch
		if err := s.do(ctx, "replay", func() { b = s.w.replay(win.Stream, from, next) }); err != nil {
			return nil, err
		}
		if b != nil {
			if err := f(b); err != nil {
				return nil, err
			}
			read = append(read, b.Spans...)
		}
		from = next
	}
	return read, nil
}

// replay makes a batch of the first piece that raw holds there. The lock is
// held.
func (w *world) replay(k sdk.Stream, from, next int64) *sdk.Batch {
	held := w.rawCoverage(w.byKey[k]).HeldWithin(coverage.Interval{From: from, Next: next})
	if len(held) == 0 {
		return nil
	}
	var fb frame.Builder
	fb.Reset()
	for pos := held[0].From; pos < held[0].Next; pos++ {
		if exists(pos) {
			fb.Append(fb.Stream(k), &frame.Record{Position: pos, Value: make([]byte, 10)})
		}
	}
	raw, err := fb.Encode(nil)
	if err != nil {
		panic(err)
	}
	v, err := frame.Open(raw)
	if err != nil {
		panic(err)
	}
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*v.NumRecords()), Spans: []sdk.Span{{Stream: k, From: held[0].From, Next: held[0].Next}}}
}
