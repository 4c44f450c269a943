package pipeline

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// simRaw is the primary-raw sink as one host has it: a process of the host's
// that writes into the store that all hosts share.
type simRaw struct {
	h *simHost
	// hold: files are committed when they are full, or by Flush. room is how
	// many batches wait before Write blocks.
	hold bool
	room int
}

func (simRaw) Describe() sdk.Description {
	return sdk.Description{Name: "sim", Version: "1", Kind: sdk.KindSink}
}
func (simRaw) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

type simWriter struct {
	r    simRaw
	who  string
	ses  sdk.Session
	wg   sync.WaitGroup
	wake chan struct{}
	stop context.CancelFunc

	mu      sync.Mutex
	waiting []*sdk.Batch
	flushed uint64
	closing bool
	dead    bool
	moved   chan struct{}
}

var errNoDatabase = errors.New("no database")

// rawIsDown reports whether raw's machine is off. The lock is held.
func (s *sim) rawIsDown() bool { return time.Now().Before(s.rawDown) }

func (r simRaw) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if err := r.h.call(ctx, "sink", func() error {
		if r.h.s.rawIsDown() || r.h.s.fault(r.h.name+"/sink", 8, "sink would not open") {
			return errNoDatabase
		}
		return nil
	}); err != nil {
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	w := &simWriter{r: r, who: r.h.name + "/raw", ses: ses, wake: make(chan struct{}, 1), stop: stop, moved: make(chan struct{})}
	w.wg.Go(func() { w.run(life) })
	r.h.onDeath(func() { // its process ends a little later, or at once
		if r.h.s.roll(w.who, 2) == 0 {
			stop()
			return
		}
		time.AfterFunc(r.h.s.withinLocked(w.who, 2*time.Second), stop)
	})
	return w, nil
}

func (w *simWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if err := w.r.h.pass(ctx); err != nil {
		return err
	}
	if w.r.h.s.faultNow(w.who+"/write", 60, "write failed") {
		return errors.New("broken pipe")
	}
	for {
		w.mu.Lock()
		full, moved := len(w.waiting) >= w.r.room, w.moved
		if !full {
			w.waiting = append(w.waiting, b)
			w.mu.Unlock()
			signal(w.wake)
			return nil
		}
		w.mu.Unlock()
		signal(w.wake)
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *simWriter) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	w.flushed = max(w.flushed, seq)
	w.mu.Unlock()
	signal(w.wake)
	return nil
}

func (w *simWriter) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing, w.dead = true, w.dead || ctx.Err() != nil
	w.mu.Unlock()
	signal(w.wake)
	defer w.stop()
	if ctx.Err() != nil {
		w.stop()
	}
	w.wg.Wait()
	return nil
}

// run makes files of what waits.
func (w *simWriter) run(life context.Context) {
	s := w.r.h.s
	for {
		for f := w.take(); len(f) > 0; f = w.take() {
			if !pause(life, s.within(w.who, s.pr.slow)) || !w.file(life, f) {
				return
			}
		}
		w.mu.Lock()
		over := w.closing
		w.mu.Unlock()
		if over {
			return
		}
		select {
		case <-w.wake:
		case <-life.Done():
			return
		}
	}
}

// take takes the batches of the next file, if one is due, now and then out of
// their order.
func (w *simWriter) take() (f []*sdk.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.waiting)
	if n == 0 || w.r.hold && !w.closing && n < w.r.room && w.waiting[0].Seq > w.flushed {
		return nil
	}
	take := 1 + w.r.h.s.n(w.who, n)
	if !w.r.hold && w.r.h.s.n(w.who, 4) == 0 {
		k := w.r.h.s.n(w.who, n)
		f = append(f, w.waiting[k])
		w.waiting = append(w.waiting[:k:k], w.waiting[k+1:]...)
	} else {
		f, w.waiting = w.waiting[:take:take], w.waiting[take:]
	}
	close(w.moved)
	w.moved = make(chan struct{})
	return f
}

// file commits batches in one transaction. false: the session is over.
func (w *simWriter) file(life context.Context, f []*sdk.Batch) bool {
	s := w.r.h.s
	w.mu.Lock()
	dead := w.dead
	w.mu.Unlock()
	if dead {
		return false
	}
	if s.bug == "early-receipt" {
		for _, b := range f {
			w.ses.Report(sdk.AllDurable(w.ses.ID, b))
		}
		if !pause(life, s.within(w.who, time.Second)) {
			return false
		}
	}
	receipts, ok := w.transaction(f)
	if !ok || s.faultNow(w.who, 40, "sink died before its receipt") {
		w.ses.Fail(errors.New("killed"))
		if s.faultNow(w.who, 4, "receipts after the session") {
			s.graves.Go(func() { w.lie(life, f) })
		}
		return false
	}
	for _, r := range receipts {
		if s.bug != "early-receipt" {
			w.ses.Report(r)
		}
	}
	return true
}

// lie answers batches once their session is over: for numbers that the next
// session uses too, and for rows that may not be there.
func (w *simWriter) lie(life context.Context, f []*sdk.Batch) {
	<-life.Done()
	pause(context.Background(), w.r.h.s.within(w.who+"/lie", 3*time.Second))
	for _, b := range f {
		w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Durable, ""))
	}
}

// transaction writes all of the batches or nothing. false: raw was not there.
func (w *simWriter) transaction(f []*sdk.Batch) (rs []sdk.Receipt, ok bool) {
	s := w.r.h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rawIsDown() || s.mem != nil && w.r.h.dead || s.fault(w.who, 40, "sink died before the write") {
		return nil, false
	}
	stale := map[sdk.Span]bool{}
	for _, b := range f {
		s.checkRows(b, w.who)
		for _, sp := range b.Spans {
			stale[sp] = sp.Epoch != s.byKey[sp.Stream].epoch && s.bug != "no-epoch"
		}
	}
	retry := slices.Contains(values(stale), true) || s.fault(w.who, 15, "transaction rolled back")
	for _, b := range f {
		r := sdk.Receipt{Session: w.ses.ID, Seq: b.Seq}
		for _, sp := range b.Spans {
			o := sdk.Outcome{Stream: sp.Stream, Run: sp.Run, From: sp.From, Next: sp.Next, Kind: sdk.Durable}
			switch {
			case stale[sp]:
				s.step("fenced", w.who, s.byKey[sp.Stream], sp.From, sp.Next)
				if s.mem != nil {
					w.r.h.record(s.byKey[sp.Stream], sp.Epoch, []coverage.Interval{{From: sp.From, Next: sp.Next}})
				}
				o.Kind = sdk.Fenced
			case retry:
				o.Kind = sdk.Retryable
			default:
				r.Outcomes = append(r.Outcomes, w.parts(b, sp)...)
				continue
			}
			r.Outcomes = append(r.Outcomes, o)
		}
		rs = append(rs, r)
	}
	return rs, true
}

func values(m map[sdk.Span]bool) (out []bool) {
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// checkRows checks that a batch's rows lie in its spans, each once, and are
// what the source has. The lock is held.
func (s *sim) checkRows(b *sdk.Batch, who string) {
	var want, got frame.Record
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			k, pos := b.Frame.Stream(b.Frame.StreamIndex(i)), b.Frame.Position(i)
			if !slices.ContainsFunc(b.Spans, func(sp sdk.Span) bool { return sp.Stream == k && sp.From <= pos && pos < sp.Next }) {
				s.wrong("%s was sent the row at %d of %s, and no span for it", who, pos, k)
			}
			if p := s.byKey[k]; !p.exists(pos) || !p.same(b.Frame, i, &want, &got) {
				s.wrong("%s was sent another record at %d of %s than stands there", who, pos, p.name)
			}
		}
	}
}

// rowsOf are the positions of a stream's rows in a batch. The lock is held.
func (s *sim) rowsOf(b *sdk.Batch, p *simStream) map[int64]bool {
	has := map[int64]bool{}
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			if b.Frame.Stream(b.Frame.StreamIndex(i)) == p.key {
				has[b.Frame.Position(i)] = true
			}
		}
	}
	return has
}

// parts makes a span durable: under granularity record, now and then only a
// part of it.
func (w *simWriter) parts(b *sdk.Batch, sp sdk.Span) []sdk.Outcome {
	s := w.r.h.s
	from, next := sp.From, sp.Next
	if w.ses.Granularity == sdk.GranularityRecord && s.fault(w.who, 4, "part of a span") && next > from {
		from += s.die(w.who).Int64N(next - from)
		next = from + 1 + s.die(w.who).Int64N(next-from)
	}
	s.hold(w.r.h, b, s.byKey[sp.Stream], from, next)
	o := func(from, next int64, k sdk.OutcomeKind) sdk.Outcome {
		return sdk.Outcome{Stream: sp.Stream, Run: sp.Run, From: from, Next: next, Kind: k}
	}
	out := []sdk.Outcome{o(from, next, sdk.Durable)}
	if sp.From < from {
		out = append(out, o(sp.From, from, sdk.Retryable))
	}
	if next < sp.Next {
		out = append(out, o(next, sp.Next, sdk.Retryable))
	}
	return out
}

// hold makes [from, next) of a stream durable, and checks INV6 and that no
// record is passed over. The lock is held.
func (s *sim) hold(h *simHost, b *sdk.Batch, p *simStream, from, next int64) {
	s.step("written", h.name, p, from, next)
	if p.holder != h.name {
		s.wrong("INV6: %s writes [%d,%d) of %s, which %s has acquired", h.name, from, next, p.name, p.holder)
	}
	has := s.rowsOf(b, p)
	before := p.cov.Clone()
	var added []int64
	for _, m := range p.cov.Missing(coverage.Interval{From: from, Next: next}) {
		for pos := m.From; pos < m.Next; pos++ {
			switch {
			case has[pos]:
				p.put(&p.rows, pos, p.has(p.rows, pos)+1)
				added = append(added, pos)
			case p.exists(pos) && pos < p.end:
				s.wrong("%s writes [%d,%d) of %s without the row at %d", h.name, from, next, p.name, pos)
			}
		}
	}
	if missing := p.cov.Missing(coverage.Interval{From: from, Next: next}); s.mem != nil && len(missing) > 0 {
		h.record(p, p.epoch, missing)
	}
	p.cov.AddHeld(coverage.Interval{From: from, Next: next})
	s.undo = append(s.undo, func() {
		for _, pos := range added {
			p.put(&p.rows, pos, p.has(p.rows, pos)-1)
		}
		p.cov = *before
	})
	s.sync("raw")
}

// sync makes what raw's store has durable, unless it was left out. The lock is
// held.
func (s *sim) sync(who string) {
	if s.bug != "no-sync-raw" || s.roll(who, 10) == 0 {
		s.undo = nil
	}
}

// cutRaw takes power from raw's machine: what was not synced is gone. The lock
// is held.
func (s *sim) cutRaw() {
	s.step("raw's power cut", "raw", nil, int64(len(s.undo)), 0)
	if s.mem != nil {
		s.powerCut()
	}
	for _, f := range slices.Backward(s.undo) {
		f()
	}
	s.undo = nil
	s.rawDown = time.Now().Add(s.withinLocked("raw", min(3*s.pr.tick, 20*time.Second)))
	for _, p := range s.streams {
		if hole := p.cov.FirstHole(); p.committed > hole && !p.deleted {
			s.wrong("INV1: after a power cut %s is committed at %d, raw has all below %d", p.name, p.committed, hole)
		}
	}
}
