package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// This file is raw's store as a host calls it: epochs, coverage, floors and
// what is replayed. Each call is a transaction that is synced when it is made.

// store does f where raw's machine is on.
func (r simRaw) store(ctx context.Context, op, lane string, f func()) error {
	return r.try(ctx, op, lane, func() error { f(); return nil })
}

// try is store for what the store may refuse.
func (r simRaw) try(ctx context.Context, op, lane string, f func() error) error {
	return r.h.call(ctx, op+lane, func() error {
		if r.h.s.rawIsDown() {
			return errNoDatabase
		}
		return f()
	})
}

func (r simRaw) Acquire(ctx context.Context, owner string, ks []sdk.Stream) (out []sdk.Acquired, _ error) {
	err := r.try(ctx, "acquire", "", func() (err error) {
		if r.h.s.mem != nil {
			out, err = r.h.disk().Acquire(ctx, owner, ks)
			for _, a := range out {
				r.h.s.acquire(r.h.s.byKey[a.Stream], r.h.name, a.Epoch)
			}
			return err
		}
		for _, k := range ks {
			p := r.h.s.byKey[k]
			a := sdk.Acquired{Stream: k, Epoch: p.epoch, Previous: p.holder}
			r.h.s.seq++
			a.Epoch.Number++
			a.Epoch.Token = [16]byte{byte(r.h.s.seq), byte(r.h.s.seq >> 8), byte(r.h.s.seq >> 16)}
			r.h.s.acquire(p, r.h.name, a.Epoch)
			out = append(out, a)
		}
		return nil
	})
	return out, err
}

// acquire notes an epoch that was issued. The lock is held.
func (s *sim) acquire(p *simStream, who string, e sdk.Epoch) {
	if e.Number != p.epoch.Number+1 {
		s.wrong("INV6: epoch %d of %s was issued after %d", e.Number, p.name, p.epoch.Number)
	}
	p.epoch, p.holder, p.from = e, who, p.cov.FirstHole()
	s.step("acquired", who, p, p.from, 0)
}

func (r simRaw) Coverage(ctx context.Context, lane string, ks []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	err := r.try(ctx, "coverage", lane, func() (err error) {
		if r.h.s.mem != nil {
			out, err = r.h.disk().Coverage(ctx, lane, ks)
			for _, c := range out {
				r.h.s.agree(lane, c)
			}
			return err
		}
		for _, k := range ks {
			p := r.h.s.byKey[k]
			c := sdk.StreamCoverage{Stream: k}
			if l := r.h.s.lane(lane); l != nil {
				part := l.part(p)
				c.Set, c.SetAside = part.held.Clone(), part.setAside()
			} else {
				c.Set = p.rawCoverage()
			}
			out = append(out, c)
		}
		return nil
	})
	return out, err
}

// rawCoverage is what raw says it has: what was pruned is void. The lock is
// held.
func (p *simStream) rawCoverage() *coverage.Set {
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

func (simRaw) Cursors(context.Context, []sdk.Stream) ([]sdk.Cursor, error) { return nil, nil }

func (r simRaw) Record(ctx context.Context, lane string, rs []sdk.CoverageRecord) (fenced error) {
	s := r.h.s
	err := r.try(ctx, "record", lane, func() error {
		l := s.lane(lane)
		if s.mem != nil {
			if err := r.h.disk().Record(ctx, lane, rs); err != nil {
				return err
			}
		}
		for _, c := range rs {
			if (l == nil || !c.Epoch.IsZero()) && c.Epoch != s.byKey[c.Stream].epoch {
				s.step("record fenced", r.h.name, s.byKey[c.Stream], 0, 0)
				fenced = sdk.Errorf(sdk.KindFenced, "record", "stale epoch")
				if s.mem != nil {
					s.wrong("INV6: the store takes a record of %s under a stale epoch", c.Stream)
				}
				return nil
			}
		}
		for _, c := range rs {
			if l != nil {
				s.cover(r.h.name, l, c)
				continue
			}
			for _, v := range c.Void {
				s.void(s.byKey[c.Stream], v)
			}
		}
		return nil
	})
	if fenced != nil {
		return fenced
	}
	return err
}

// void checks that a void claims only what retention has removed, or what never
// was. The lock is held.
func (s *sim) void(p *simStream, v coverage.Void) {
	s.step("void", v.Reason.String(), p, v.From, v.Next)
	for pos := max(v.From, p.forced); pos < min(v.Next, p.end); pos++ {
		if p.exists(pos) && p.has(p.rows, pos) == 0 {
			s.wrong("[%d,%d) of %s is void (%s), and the record at %d was there to be read", v.From, v.Next, p.name, v.Reason, pos)
			break
		}
	}
	p.cov.AddVoid(v)
}

// cover merges a lane's record, and checks INV8. The lock is held.
func (s *sim) cover(who string, l *simLane, c sdk.CoverageRecord) {
	p := s.byKey[c.Stream]
	part := l.part(p)
	for _, i := range c.Held {
		s.step("covered", who+"/"+l.name, p, i.From, i.Next)
		for pos := max(i.From, p.base); pos < min(i.Next, p.end); pos++ {
			if p.exists(pos) && p.has(part.rows, pos) == 0 && p.has(p.rows, pos) > 0 {
				s.wrong("INV8: lane %s covers %d of %s, which is not there", l.name, pos, p.name)
				break
			}
		}
		part.held.AddHeld(i)
	}
	for _, i := range c.SetAside {
		s.step("set aside", who+"/"+l.name, p, i.From, i.Next)
		if s.bug != "set-aside-lost" {
			part.aside.AddHeld(i)
		}
	}
	if hole := p.cov.FirstHole(); c.LiveFloor > hole {
		s.wrong("the live floor of lane %s is %d of %s, raw has all below %d", l.name, c.LiveFloor, p.name, hole)
	}
	if c.LiveFloor > part.floor {
		s.step("live floor", who+"/"+l.name, p, part.floor, c.LiveFloor)
		part.floor = c.LiveFloor
	}
}

func (r simRaw) Streams(ctx context.Context) (out []sdk.Stream, _ error) {
	err := r.try(ctx, "streams", "", func() (err error) {
		if r.h.s.mem != nil {
			out, err = r.h.disk().Streams(ctx)
			return err
		}
		for _, p := range r.h.s.streams {
			if p.epoch.Number > 0 {
				out = append(out, p.key)
			}
		}
		return nil
	})
	return out, err
}

func (r simRaw) Floors(ctx context.Context, lane string, ks []sdk.Stream) (out []sdk.Floors, _ error) {
	err := r.try(ctx, "floors", lane, func() (err error) {
		if r.h.s.mem != nil {
			out, err = r.h.disk().Floors(ctx, lane, ks)
			return err
		}
		for _, k := range ks {
			p := r.h.s.byKey[k]
			out = append(out, sdk.Floors{Stream: k, Live: r.h.s.lane(lane).part(p).floor, Raw: p.rawFloor})
		}
		return nil
	})
	return out, err
}

func (simRaw) Prune(context.Context, []sdk.Prune, bool) ([]sdk.Pruned, error) { return nil, nil }

// prune takes rows from raw's beginning: what a secondary lacks only if it is
// asked to. The lock is held.
func (s *sim) prune() {
	if s.mem != nil {
		return // only whole files go: the directory's own tests do that
	}
	p := s.streams[s.roll("conductor", len(s.streams))]
	below := p.cov.FirstHole()
	missing := s.roll("conductor", 4) == 0
	for _, l := range s.wanted {
		if !missing {
			below = min(below, firstMissing(&l.part(p).held, p.base))
		}
	}
	if below <= p.rawFloor {
		return
	}
	below = p.rawFloor + 1 + s.die("conductor").Int64N(below-p.rawFloor)
	s.step("pruned", "raw", p, p.rawFloor, below)
	p.gone = max(p.gone, below)
	if s.bug != "floor-after-delete" {
		p.rawFloor = below
		return
	}
	time.AfterFunc(s.withinLocked("conductor", time.Minute), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.rawFloor = max(p.rawFloor, below)
	})
}

// firstMissing is the first position from base on that a set does not hold.
func firstMissing(held *coverage.Set, base int64) int64 {
	return held.Missing(coverage.Interval{From: base, Next: sdk.MaxPosition})[0].From
}

// Replay reads rows one frame at a time; raw may be pruned between them.
func (r simRaw) Replay(ctx context.Context, win sdk.Window, f func(*sdk.Batch) error) (read []sdk.Span, _ error) {
	s, most := r.h.s, int64(4)
	for from := win.From; from < win.Next; {
		next, most2 := min(win.Next, from+most), most*2
		most = min(most2, 500)
		var b *sdk.Batch
		if err := r.store(ctx, "replay", win.Stream.String()+fmt.Sprint(from), func() {
			p := s.byKey[win.Stream]
			b = s.replay(p, from, next)
			s.step("replayed", r.h.name, p, from, next)
		}); err != nil {
			return nil, err
		}
		if b != nil {
			if err := f(b); err != nil {
				return nil, err
			}
			read = append(read, b.Spans...)
			next = b.Spans[0].Next // of what was held there, the first piece
		}
		if s.bug == "replay-skips" && s.n("bug", 20) == 0 {
			next += 3
			read = append(read, sdk.Span{Stream: win.Stream, From: from, Next: min(next, win.Next)})
		}
		from = next
	}
	return read, nil
}

// replay makes a batch of the first piece that raw holds there. The lock is
// held.
func (s *sim) replay(p *simStream, from, next int64) *sdk.Batch {
	held := p.rawCoverage().HeldWithin(coverage.Interval{From: from, Next: next})
	if len(held) == 0 {
		return nil
	}
	var fb frame.Builder
	fb.Reset()
	var rec frame.Record
	for pos := held[0].From; pos < held[0].Next; pos++ {
		if p.exists(pos) && pos >= p.gone && p.has(p.rows, pos) > 0 {
			p.record(pos, &rec)
			fb.Append(fb.Stream(p.key), &rec)
		}
	}
	v := encoded(&fb)
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*v.NumRecords()), Spans: []sdk.Span{{Stream: p.key, From: held[0].From, Next: held[0].Next}}}
}

// lane finds a lane by its name. The lock is held.
func (s *sim) lane(name string) *simLane {
	if i := slices.IndexFunc(s.lanes, func(l *simLane) bool { return l.name == name }); i >= 0 {
		return s.lanes[i]
	}
	return nil
}
