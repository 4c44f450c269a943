package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// simSource reads the broker for one host, as a member of a group.
type simSource struct{ h *simHost }

func (simSource) Describe() sdk.Description {
	return sdk.Description{Name: "sim", Version: "1", Kind: sdk.KindSource}
}
func (simSource) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

type simReader struct {
	h      *simHost
	s      *sim
	ev     sdk.Events
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// deliver is held while a batch is handed over.
	deliver sync.Mutex

	// Guarded by the world's lock.
	runs    map[uint64]*simRun
	of      map[*simStream]*simRun
	dropped map[uint64]bool
	told    map[*simStream]bool // where streams are named
	closed  bool
}

type simRun struct {
	id        uint64
	part      *simStream
	next      int64
	committed int64
	halted    bool // waits for a Start: gapped, or being revoked
}

func (src simSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	h := src.h
	if err := h.call(ctx, "source", func() error {
		if h.s.fault(h.name+"/source", 6, "source would not open") {
			return errors.New("no broker")
		}
		return nil
	}); err != nil {
		return nil, err
	}
	r := &simReader{h: h, s: h.s, ev: ev, runs: map[uint64]*simRun{}, of: map[*simStream]*simRun{}, dropped: map[uint64]bool{}, told: map[*simStream]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	h.onDeath(r.cancel)
	r.wg.Go(r.group)
	r.wg.Go(r.send)
	return r, nil
}

// group is the membership: one change at a time.
func (r *simReader) group() {
	who := r.h.name + "/group"
	for pause(r.ctx, r.s.within(who, 2*time.Second)) {
		if r.h.pass(r.ctx) != nil {
			return
		}
		r.awake()
		r.assign(who)
		switch {
		case r.s.pr.named:
			if r.s.faultNow(who, 50, "source failed") {
				r.ev.Fail(errors.New("killed"))
				return
			}
		case r.s.faultNow(who, 12, "revoked"):
			r.revoke(who)
		case r.s.faultNow(who, 20, "lost"):
			r.lose(who)
		case r.s.faultNow(who, 50, "source failed"):
			r.ev.Fail(errors.New("killed"))
			return
		}
	}
}

// assign takes streams that nobody has, not all of them while others live.
func (r *simReader) assign(who string) {
	r.s.mu.Lock()
	var as []sdk.Assignment
	for _, p := range r.s.alive() {
		if r.s.pr.named {
			if !r.told[p] {
				r.told[p] = true
				as = append(as, sdk.Assignment{Stream: p.key, Committed: sdk.NoPosition, Initial: sdk.StartEarliest})
			}
			continue
		}
		if !p.free() || p.owner == r || !r.s.calm && r.s.roll(who, 3) == 0 {
			continue
		}
		if p.owner != nil {
			r.s.did["moved to another host"]++
		}
		p.owner, p.run = r, 0
		r.s.step("assigned", who, p, p.committed, p.end)
		as = append(as, p.assignment())
	}
	r.s.mu.Unlock()
	if len(as) > 0 {
		r.ev.Assigned(r.ctx, as)
	}
}

// mine picks some of the streams that this reader owns, and their runs.
func (r *simReader) mine(who string) (ps []*simStream, runs []uint64) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, p := range r.s.streams {
		if p.owner == r && r.s.roll(who, 2) == 0 {
			ps = append(ps, p)
			if x := r.runs[p.run]; x != nil {
				runs = append(runs, p.run)
				x.halted = true
			}
		}
	}
	return ps, runs
}

// disown gives streams up; the group may give them to anybody.
func (r *simReader) disown(ps []*simStream) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	for _, p := range ps {
		if p.owner == r {
			r.s.step("disowned", r.h.name, p, 0, 0)
			r.end(p.run)
			p.owner, p.run = nil, 0
		}
	}
}

func (r *simReader) revoke(who string) {
	ps, runs := r.mine(who)
	if len(runs) > 0 {
		r.ev.Revoking(r.ctx, runs, time.Now().Add(r.s.within(who, 20*time.Second)))
	}
	r.disown(ps)
}

func (r *simReader) lose(who string) {
	ps, runs := r.mine(who)
	r.disown(ps)
	if len(runs) > 0 {
		r.ev.Lost(runs)
	}
}

// owns reports whether a stream is this reader's: where streams are named, each
// reader believes that it has all of them. The lock is held.
func (r *simReader) owns(p *simStream) bool { return p.owner == r || r.s.pr.named && !p.deleted }

// end ends a run. The lock is held.
func (r *simReader) end(run uint64) {
	if x := r.runs[run]; x != nil {
		x.halted = true
		delete(r.runs, run)
		if r.of[x.part] == x {
			delete(r.of, x.part)
		}
		r.dropped[run] = true
	}
}

// awake is told what was lost: the group did not hear of this member.
func (r *simReader) awake() {
	r.s.mu.Lock()
	var runs []uint64
	for _, p := range r.s.streams {
		if x := r.of[p]; x != nil && !r.owns(p) {
			runs = append(runs, x.id)
			r.end(x.id)
		}
	}
	r.s.mu.Unlock()
	if len(runs) > 0 {
		r.ev.Lost(runs)
	}
}

func (r *simReader) Resolve(ctx context.Context, qs []sdk.Query) (out []sdk.Resolved, _ error) {
	err := r.h.call(ctx, "resolve", func() error {
		for _, q := range qs {
			p := r.s.byKey[q.Stream]
			if !r.owns(p) {
				return sdk.Errorf(sdk.KindFenced, "resolve", "not assigned")
			}
			out = append(out, sdk.Resolved{Stream: q.Stream, Position: p.start})
		}
		return nil
	})
	return out, err
}

func (r *simReader) Start(ctx context.Context, sts []sdk.Start) error {
	return r.h.call(ctx, "start", func() error {
		for _, st := range sts {
			if r.closed || !r.owns(r.s.byKey[st.Stream]) {
				return sdk.Errorf(sdk.KindFenced, "start", "not assigned")
			}
		}
		for _, st := range sts {
			r.begin(st)
		}
		return nil
	})
}

// begin starts a run: never above raw's first hole, and never below what was
// held when this host acquired the stream. The lock is held.
func (r *simReader) begin(st sdk.Start) {
	p := r.s.byKey[st.Stream]
	if !r.s.pr.named {
		r.end(p.run)
	}
	if x := r.of[p]; x != nil {
		r.end(x.id)
	}
	if hole := p.cov.FirstHole(); st.Position > hole {
		r.s.wrong("%s starts %s at %d, raw has all below %d", r.h.name, p.name, st.Position, hole)
	}
	if p.holder == r.h.name && st.Position < p.from {
		r.s.wrong("INV3: %s starts %s at %d, raw had all below %d when it was acquired", r.h.name, p.name, st.Position, p.from)
	}
	p.run = st.Run
	r.s.step("started", r.h.name, p, st.Position, p.end)
	x := &simRun{id: st.Run, part: p, next: st.Position, committed: sdk.NoPosition}
	r.runs[st.Run], r.of[p] = x, x
}

func (r *simReader) Commit(ctx context.Context, ms []sdk.Mark) []error {
	errs := make([]error, len(ms))
	if err := r.h.call(ctx, "commits", func() error {
		order := make([]int, len(ms)) // the host's is random
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return strings.Compare(ms[a].Stream.String(), ms[b].Stream.String()) })
		for _, i := range order {
			errs[i] = r.s.commit(r, ms[i])
		}
		return nil
	}); err != nil {
		return allMarks(ms, err)
	}
	return errs
}

func (r *simReader) Drop(ctx context.Context, runs []uint64) error {
	if err := r.h.pass(ctx); err != nil {
		return err
	}
	r.s.mu.Lock()
	for _, id := range runs {
		if x := r.runs[id]; x != nil && x.part.run == id {
			x.part.run = 0
		}
		r.end(id)
		r.dropped[id] = true
	}
	r.s.mu.Unlock()
	r.deliver.Lock() // what is being handed over
	defer r.deliver.Unlock()
	return nil
}

// Close leaves the group, unless the host has died: then nobody hears it.
func (r *simReader) Close(context.Context) error {
	r.cancel()
	r.wg.Wait()
	r.s.mu.Lock()
	dead := r.h.dead
	r.closed = true
	r.s.mu.Unlock()
	if !dead {
		r.disown(r.s.streams)
	}
	return nil
}

// send delivers what there is, with credit, and says where streams end.
func (r *simReader) send() {
	who := r.h.name + "/send"
	for pause(r.ctx, r.s.within(who, 100*time.Millisecond)) {
		if r.h.pass(r.ctx) != nil {
			return
		}
		credit, err := r.ev.WaitCredit(r.ctx)
		if err != nil {
			return
		}
		r.deliver.Lock()
		more, err := r.batch(who, credit)
		r.deliver.Unlock()
		if err != nil || !more && !pause(r.ctx, r.s.within(who, 2*time.Second)) {
			return
		}
	}
}

// batch hands over a batch of several streams, if there is anything.
func (r *simReader) batch(who string, credit int64) (more bool, _ error) {
	b, gaps, lags := r.fetch(who, credit)
	for _, g := range gaps {
		r.ev.Gap(g)
	}
	if len(lags) > 0 {
		r.ev.Lag(lags)
	}
	if b == nil {
		return false, nil
	}
	return true, r.ev.Batch(r.ctx, b)
}

func (r *simReader) fetch(who string, credit int64) (b *sdk.Batch, gaps []sdk.Gap, lags []sdk.Lag) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var fb frame.Builder
	fb.Reset()
	b = &sdk.Batch{}
	room := min(int64(s.pr.frame), max(credit, 1))
	for _, p := range s.streams {
		x := r.of[p]
		if x == nil || x.halted {
			continue
		}
		lags = append(lags, sdk.Lag{Stream: p.key, Run: x.id, End: p.end})
		switch {
		case x.next < p.start && r.owns(p):
			x.halted = true
			s.step("gap", who, p, x.next, p.start)
			gaps = append(gaps, sdk.Gap{Stream: p.key, Run: x.id, Wanted: x.next, Available: p.start, Cause: sdk.GapOutOfRange, Reason: "retention"})
		case x.next < p.end && x.next >= p.start && (len(b.Spans) == 0 || int64(fb.Size()) < room) && s.roll(who, 3) > 0:
			b.Spans = append(b.Spans, r.read(who, &fb, x, room))
		}
	}
	if len(b.Spans) == 0 {
		return nil, gaps, lags
	}
	b.Frame = encoded(&fb)
	r.h.largest = max(r.h.largest, b.Bytes())
	return b, gaps, lags
}

// read appends the next records of a run. The lock is held.
func (r *simReader) read(who string, fb *frame.Builder, x *simRun, room int64) sdk.Span {
	p, from := x.part, x.next
	next := min(p.end, from+1+r.s.die(who).Int64N(r.s.pr.batch))
	var rec frame.Record
	for x.next < next && (x.next == from || int64(fb.Size()) < room) {
		if p.exists(x.next) {
			p.record(x.next, &rec)
			fb.Append(fb.Stream(p.key), &rec)
		}
		x.next++
	}
	r.s.step("read", who, p, from, x.next)
	return sdk.Span{Stream: p.key, From: from, Next: x.next, Run: x.id}
}

// encoded is a frame of what was appended.
func encoded(fb *frame.Builder) frame.View {
	raw, err := fb.Encode(nil)
	if err != nil {
		panic(err)
	}
	v, err := frame.Open(raw)
	if err != nil {
		panic(err)
	}
	return v
}
