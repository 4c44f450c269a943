package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// chaosSink writes into a world's store: files of several batches, committed
// all or not at all, by a goroutine of its own, and in any order if it likes.
type chaosSink struct {
	w *world
	// hold: files are committed when they are full, or by Flush; else as soon
	// as somebody has time.
	hold bool
	// room is how many batches wait before Write blocks.
	room int

	mu     sync.Mutex
	writer *chaosWriter
}

func (s *chaosSink) Describe() sdk.Description {
	return sdk.Description{Name: "chaos", Version: "1", Kind: sdk.KindSink}
}
func (s *chaosSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

type chaosWriter struct {
	s    *chaosSink
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

func (s *chaosSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if s.w.fault(5, "sink would not open") {
		return nil, errors.New("no database")
	}
	life, stop := context.WithCancel(context.Background())
	w := &chaosWriter{s: s, ses: ses, wake: make(chan struct{}, 1), stop: stop, moved: make(chan struct{})}
	w.wg.Go(func() { w.run(life) })
	return w, nil
}

func (w *chaosWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if w.s.w.fault(40, "write failed") {
		return errors.New("broken pipe")
	}
	for {
		w.mu.Lock()
		full, moved := len(w.waiting) >= w.s.room, w.moved
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

func (w *chaosWriter) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	w.flushed = max(w.flushed, seq)
	w.mu.Unlock()
	signal(w.wake)
	return nil
}

func (w *chaosWriter) Close(ctx context.Context) error {
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
func (w *chaosWriter) run(life context.Context) {
	for {
		for f := w.take(); len(f) > 0; f = w.take() {
			if !pause(life, w.s.w.pause(500*time.Millisecond)) || !w.file(life, f) {
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

// take takes the batches of the next file, if one is due.
func (w *chaosWriter) take() (f []*sdk.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.waiting)
	if n == 0 || w.s.hold && !w.closing && n < w.s.room && w.waiting[0].Seq > w.flushed {
		return nil
	}
	take := 1 + w.s.w.n(n)
	if !w.s.hold && w.s.w.n(4) == 0 { // out of order
		k := w.s.w.n(n)
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
func (w *chaosWriter) file(life context.Context, f []*sdk.Batch) bool {
	x := w.s.w
	if x.fault(25, "session died before the write") {
		w.ses.Fail(errors.New("killed"))
		return false
	}
	w.mu.Lock()
	dead := w.dead
	w.mu.Unlock()
	if dead {
		return false
	}
	receipts := w.transaction(f)
	if x.fault(25, "session died before the receipt") {
		w.ses.Fail(errors.New("killed"))
		if x.fault(2, "receipts after the session") {
			x.liars.Go(func() { w.lie(life, f) })
		}
		return false
	}
	for _, r := range receipts {
		w.ses.Report(r)
	}
	return true
}

// lie answers batches once their session is over: for numbers that the next
// session uses too, and for rows that may not be there.
func (w *chaosWriter) lie(life context.Context, f []*sdk.Batch) {
	<-life.Done()
	pause(context.Background(), w.s.w.pause(3*time.Second))
	for _, b := range f {
		w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Durable, ""))
	}
}

func (w *chaosWriter) transaction(f []*sdk.Batch) (rs []sdk.Receipt) {
	x := w.s.w
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, b := range f {
		x.checkRows(b)
	}
	stale := x.stale(f)
	retry := len(stale) > 0 || x.faultLocked(10, "transaction rolled back")
	for _, b := range f {
		r := sdk.Receipt{Session: w.ses.ID, Seq: b.Seq}
		for _, s := range b.Spans {
			o := sdk.Outcome{Stream: s.Stream, Run: s.Run, From: s.From, Next: s.Next, Kind: sdk.Durable}
			switch {
			case stale[s]:
				x.did["fenced"]++
				x.note("%s fenced of %p run %d", s.Stream, w.s, s.Run%10000)
				o.Kind = sdk.Fenced
			case retry:
				o.Kind = sdk.Retryable
			default:
				r.Outcomes = append(r.Outcomes, w.parts(b, s)...)
				continue
			}
			r.Outcomes = append(r.Outcomes, o)
		}
		rs = append(rs, r)
	}
	return rs
}

// parts makes a span durable: under granularity record, now and then only a
// part of it.
func (w *chaosWriter) parts(b *sdk.Batch, s sdk.Span) []sdk.Outcome {
	x := w.s.w
	from, next := s.From, s.Next
	if w.ses.Granularity == sdk.GranularityRecord && x.faultLocked(3, "part of a span") {
		from += x.rng.Int64N(next - from)
		next = from + 1 + x.rng.Int64N(next-from)
	}
	x.hold(b, s, from, next)
	out := []sdk.Outcome{{Stream: s.Stream, Run: s.Run, From: from, Next: next, Kind: sdk.Durable}}
	if s.From < from {
		out = append(out, sdk.Outcome{Stream: s.Stream, Run: s.Run, From: s.From, Next: from, Kind: sdk.Retryable})
	}
	if next < s.Next {
		out = append(out, sdk.Outcome{Stream: s.Stream, Run: s.Run, From: next, Next: s.Next, Kind: sdk.Retryable})
	}
	return out
}

// store does f, or fails before or after it.
func (s *chaosSink) do(ctx context.Context, what string, f func()) error {
	if !pause(ctx, s.w.pause(400*time.Millisecond)) {
		return ctx.Err()
	}
	if s.w.fault(8*s.w.rare, what+" failed") {
		return errors.New("no database")
	}
	s.w.mu.Lock()
	f()
	s.w.mu.Unlock()
	if s.w.fault(12*s.w.rare, what+"'s answer lost") {
		return errors.New("connection reset")
	}
	return nil
}

func (s *chaosSink) Acquire(ctx context.Context, _ string, ks []sdk.Stream) (out []sdk.Acquired, _ error) {
	err := s.do(ctx, "acquire", func() {
		for _, k := range ks {
			s.w.note("%s acquired by %p", k, s)
			out = append(out, sdk.Acquired{Stream: k, Epoch: s.w.acquire(s.w.byKey[k])})
		}
	})
	return out, err
}

func (s *chaosSink) Coverage(ctx context.Context, _ string, ks []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	err := s.do(ctx, "coverage", func() {
		for _, k := range ks {
			out = append(out, sdk.StreamCoverage{Stream: k, Set: s.w.byKey[k].cov.Clone()})
		}
	})
	return out, err
}

func (s *chaosSink) Cursors(context.Context, []sdk.Stream) ([]sdk.Cursor, error) { return nil, nil }

func (s *chaosSink) Record(ctx context.Context, _ string, rs []sdk.CoverageRecord) (fenced error) {
	err := s.do(ctx, "record", func() {
		for _, r := range rs {
			if r.Epoch != s.w.byKey[r.Stream].epoch {
				fenced = sdk.Errorf(sdk.KindFenced, "record", "stale epoch")
				return
			}
		}
		for _, r := range rs {
			for _, v := range r.Void {
				s.w.void(r.Stream, v)
			}
		}
	})
	if fenced != nil {
		return fenced
	}
	return err
}

// void checks that a void claims only what retention has removed. The lock is
// held.
func (w *world) void(k sdk.Stream, v coverage.Void) {
	p := w.byKey[k]
	if v.Next > p.start {
		w.wrong("[%d,%d) of %s is void (%s), the log begins at %d", v.From, v.Next, k, v.Reason, p.start)
	}
	p.cov.AddVoid(v)
}
