package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// chaosSource reads a world's streams, several of them in one batch, and is
// given and robbed of them at random.
type chaosSource struct {
	w *world
	// blind: a zombie's. It is not told what it has lost, and gets nothing.
	blind bool
}

func (s *chaosSource) Describe() sdk.Description {
	return sdk.Description{Name: "chaos", Version: "1", Kind: sdk.KindSource}
}
func (s *chaosSource) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

// setBlind makes a zombie of the source, or ends that.
func (s *chaosSource) setBlind(blind bool) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.blind = blind
}

type chaosReader struct {
	w      *world
	src    *chaosSource
	told   bool // what there is, where streams are named
	ev     sdk.Events
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// deliver is held while a batch is handed over.
	deliver sync.Mutex

	// Guarded by w.mu.
	runs    map[uint64]*chaosRun
	dropped map[uint64]bool
}

type chaosRun struct {
	id        uint64
	part      *chaosPart
	next      int64
	committed int64
	halted    bool // waits for a Start: gapped, or being revoked
}

func (s *chaosSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	if s.w.fault(6, "source would not open") {
		return nil, errors.New("no broker")
	}
	r := &chaosReader{w: s.w, src: s, ev: ev, runs: map[uint64]*chaosRun{}, dropped: map[uint64]bool{}}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.wg.Go(r.group)
	r.wg.Go(r.send)
	return r, nil
}

// group is the membership: one change at a time.
func (r *chaosReader) group() {
	for pause(r.ctx, r.w.pause(2*time.Second)) {
		if r.isBlind() {
			continue
		}
		r.awake()
		r.assign()
		switch {
		case r.w.named && r.w.fault(25, "source failed"):
			r.ev.Fail(errors.New("killed"))
			return
		case r.w.named:
		case r.w.fault(6, "revoked"):
			r.revoke()
		case r.w.fault(8, "lost"):
			r.lose()
		case r.w.fault(25, "source failed"):
			r.ev.Fail(errors.New("killed"))
			return
		}
	}
}

func (r *chaosReader) isBlind() bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return r.src.blind
}

// assign takes what nobody owns.
func (r *chaosReader) assign() {
	r.w.mu.Lock()
	var as []sdk.Assignment
	for _, p := range r.w.parts {
		if r.w.named && r.told || !r.w.named && (p.owner != nil || r.src.blind || !r.w.calm && r.w.rng.IntN(3) == 0) {
			continue
		}
		p.owner, p.run = r, 0
		r.w.note("%s assigned to %p", p.key, r)
		a := sdk.Assignment{Stream: p.key, Committed: p.committed, Initial: sdk.StartEarliest}
		if r.w.named {
			a.Committed = sdk.NoPosition
		} else if p.committed >= 0 {
			a.CommittedIncarnation = p.key.Incarnation
		}
		as = append(as, a)
	}
	r.told = true
	r.w.mu.Unlock()
	if len(as) > 0 {
		r.ev.Assigned(r.ctx, as)
	}
}

// mine picks some of the streams that this reader owns, and their runs.
func (r *chaosReader) mine(halt bool) (ps []*chaosPart, runs []uint64) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, p := range r.w.parts {
		if p.owner == r && r.w.rng.IntN(2) == 0 {
			ps = append(ps, p)
			if p.run != 0 {
				runs = append(runs, p.run)
				r.runs[p.run].halted = r.runs[p.run].halted || halt
			}
		}
	}
	return ps, runs
}

// disown gives streams up; the group may give them to anybody.
func (r *chaosReader) disown(ps []*chaosPart) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, p := range ps {
		if p.owner == r {
			r.w.note("%s disowned by %p, run %d", p.key, r, p.run%10000)
			r.end(p.run)
			p.owner, p.run = nil, 0
		}
	}
}

func (r *chaosReader) revoke() {
	ps, runs := r.mine(true)
	if len(runs) > 0 {
		r.ev.Revoking(r.ctx, runs, time.Now().Add(r.w.pause(20*time.Second)))
	}
	r.disown(ps)
}

func (r *chaosReader) lose() {
	ps, runs := r.mine(true)
	r.disown(ps)
	if len(runs) > 0 {
		r.ev.Lost(runs)
	}
}

// end ends a run. The lock is held.
func (r *chaosReader) end(run uint64) {
	if x := r.runs[run]; x != nil {
		x.halted = true
		delete(r.runs, run)
		r.dropped[run] = true
	}
}

func (r *chaosReader) Resolve(_ context.Context, qs []sdk.Query) (out []sdk.Resolved, _ error) {
	if r.w.fault(10, "resolve failed") {
		return nil, errors.New("no leader")
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, q := range qs {
		p := r.w.byKey[q.Stream]
		if !r.has(p) {
			return nil, sdk.Errorf(sdk.KindFenced, "resolve", "not assigned")
		}
		out = append(out, sdk.Resolved{Stream: q.Stream, Position: p.start})
	}
	return out, nil
}

func (r *chaosReader) Start(_ context.Context, sts []sdk.Start) error {
	if r.w.fault(15, "start failed") {
		return errors.New("busy")
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	for _, st := range sts {
		if p := r.w.byKey[st.Stream]; !r.has(p) {
			return sdk.Errorf(sdk.KindFenced, "start", "not assigned")
		}
	}
	for _, st := range sts {
		p := r.w.byKey[st.Stream]
		if r.w.named {
			if x := r.runOf(p); x != nil {
				r.end(x.id)
			}
		}
		r.end(p.run)
		if hole := r.w.hole(p); st.Position > hole {
			r.w.wrong("%s starts at %d, the store has all below %d", p.key, st.Position, hole)
		}
		p.run = st.Run
		r.w.note("%s started at %d by %p, run %d", p.key, st.Position, r, st.Run%10000)
		r.runs[st.Run] = &chaosRun{id: st.Run, part: p, next: st.Position, committed: sdk.NoPosition}
	}
	return nil
}

// has reports whether the stream is this reader's, as far as that is known. The
// lock is held.
func (r *chaosReader) has(p *chaosPart) bool { return p.owner == r || r.w.named }

func (r *chaosReader) Commit(ctx context.Context, ms []sdk.Mark) []error {
	if !pause(ctx, r.w.pause(300*time.Millisecond)) {
		return allMarks(ms, ctx.Err())
	}
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	errs := make([]error, len(ms))
	for i, m := range ms {
		errs[i] = r.w.commit(r, m)
	}
	return errs
}

func allMarks(ms []sdk.Mark, err error) []error {
	errs := make([]error, len(ms))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

func (r *chaosReader) Drop(_ context.Context, runs []uint64) error {
	r.w.mu.Lock()
	for _, id := range runs {
		if x := r.runs[id]; x != nil && x.part.run == id {
			x.part.run = 0
		}
		r.end(id)
		r.dropped[id] = true
	}
	r.w.mu.Unlock()
	r.deliver.Lock() // what is being handed over
	defer r.deliver.Unlock()
	return nil
}

func (r *chaosReader) Close(context.Context) error {
	r.cancel()
	r.wg.Wait()
	r.disown(r.w.parts)
	return nil
}

// send delivers what there is, with credit, and says where streams end.
func (r *chaosReader) send() {
	for pause(r.ctx, r.w.pause(100*time.Millisecond)) {
		if _, err := r.ev.WaitCredit(r.ctx); err != nil {
			return
		}
		r.deliver.Lock()
		err := r.batch()
		r.deliver.Unlock()
		if err != nil {
			return
		}
	}
}

// runOf is the run that this reader believes in. The lock is held.
func (r *chaosReader) runOf(p *chaosPart) *chaosRun {
	for _, x := range r.runs {
		if x.part == p {
			return x
		}
	}
	return nil
}

// awake ends a zombie's sleep: it is told what it has lost.
func (r *chaosReader) awake() {
	r.w.mu.Lock()
	var runs []uint64
	for id, x := range r.runs {
		if !r.has(x.part) {
			runs = append(runs, id)
			r.end(id)
		}
	}
	r.w.mu.Unlock()
	if len(runs) > 0 {
		r.ev.Lost(runs)
	}
}

func (r *chaosReader) batch() error {
	var fb frame.Builder
	fb.Reset()
	b := &sdk.Batch{}
	var gaps []sdk.Gap
	var lags []sdk.Lag
	r.w.mu.Lock()
	for _, p := range r.w.parts { // in one order, and a zombie's too
		x := r.runOf(p)
		if x == nil || x.halted {
			continue
		}
		lags = append(lags, sdk.Lag{Stream: p.key, Run: x.id, End: p.end})
		switch {
		case x.next < p.start:
			x.halted = true
			gaps = append(gaps, sdk.Gap{Stream: p.key, Run: x.id, Wanted: x.next, Available: p.start, Cause: sdk.GapOutOfRange, Reason: "retention"})
		case x.next < p.end && r.w.rng.IntN(3) > 0:
			next := min(p.end, x.next+1+r.w.rng.Int64N(6))
			b.Spans = append(b.Spans, sdk.Span{Stream: p.key, From: x.next, Next: next, Run: x.id})
			for pos := x.next; pos < next; pos++ {
				if exists(pos) {
					fb.Append(fb.Stream(p.key), &frame.Record{Position: pos, Value: make([]byte, r.w.rng.IntN(60))})
				}
			}
			x.next = next
		}
	}
	r.w.mu.Unlock()
	for _, g := range gaps {
		r.w.fault(1, "gap")
		r.ev.Gap(g)
	}
	r.ev.Lag(lags)
	if len(b.Spans) == 0 {
		return nil
	}
	raw, err := fb.Encode(nil)
	if err == nil {
		b.Frame, err = frame.Open(raw)
	}
	if err != nil {
		panic(err)
	}
	return r.ev.Batch(r.ctx, b)
}
