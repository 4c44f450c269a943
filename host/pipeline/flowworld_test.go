package pipeline

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// loadSource is a broker with a backlog, and a source that asks it for as many
// compressed bytes as it has credit for, expands them, and sends frames of
// about frameBytes. It knows what the host holds.
type loadSource struct {
	parts   int
	records int64 // of each part
	perPart int   // records a frame
	size    func(position int64) int
	// ratio is what a record expands to; nil: once.
	ratio func(position int64) int64

	// mute: nothing is delivered. reachable: the ends are told every now and then.
	mute, reachable bool

	mu        sync.Mutex
	committed map[sdk.Stream]int64
	opens     int
	beats     atomic.Int64 // of the group's member
	closed    atomic.Int64 // lives that ended
	held      atomic.Int64 // bytes of frames that the host has
	peak      atomic.Int64
	ahead     atomic.Int64 // the largest fetch, compressed
	sent      atomic.Int64 // frames
}

func (s *loadSource) Describe() sdk.Description { return sdk.Description{Name: "load"} }
func (s *loadSource) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (s *loadSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &loadReader{s: s, ev: ev, ctx: ctx, cancel: cancel, deliver: make(chan struct{}, 1)}
	s.mu.Lock()
	s.opens++
	s.mu.Unlock()
	r.wg.Go(func() { // heartbeats go on whatever the host does about credit
		for pause(ctx, 3*time.Second) {
			s.beats.Add(1)
		}
	})
	var as []sdk.Assignment
	for i := range s.parts {
		as = append(as, sdk.Assignment{Stream: part(i), Committed: sdk.NoPosition, Initial: sdk.StartEarliest})
	}
	return r, ev.Assigned(ctx, as)
}

type loadReader struct {
	s      *loadSource
	ev     sdk.Events
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// deliver is held by who sends; a mutex would keep virtual time from passing.
	deliver chan struct{}
	fetched int64 // compressed bytes in hand. deliver is held.
}

func (r *loadReader) Resolve(_ context.Context, qs []sdk.Query) (out []sdk.Resolved, _ error) {
	for _, q := range qs {
		out = append(out, sdk.Resolved{Stream: q.Stream})
	}
	return out, nil
}

func (r *loadReader) Start(_ context.Context, sts []sdk.Start) error {
	for _, st := range sts {
		r.wg.Go(func() {
			r.ev.Lag([]sdk.Lag{{Stream: st.Stream, Run: st.Run, End: r.s.records}})
			for r.s.mute && pause(r.ctx, time.Second) {
				if r.s.reachable {
					r.ev.Lag([]sdk.Lag{{Stream: st.Stream, Run: st.Run, End: r.s.records}})
				}
			}
			for at := st.Position; at < r.s.records && r.ctx.Err() == nil; {
				next := min(at+int64(r.s.perPart), r.s.records)
				if !r.send(st, at, next) {
					return
				}
				at = next
			}
		})
	}
	return nil
}

// send sends one frame, and fetches first if nothing is in hand.
func (r *loadReader) send(st sdk.Start, from, next int64) bool {
	s := r.s
	select {
	case r.deliver <- struct{}{}:
		defer func() { <-r.deliver }()
	case <-r.ctx.Done():
		return false
	}
	credit, err := r.ev.WaitCredit(r.ctx)
	if err != nil {
		return false
	}
	if r.fetched <= 0 {
		r.fetched = credit
		s.ahead.Store(max(s.ahead.Load(), credit))
	}
	v := makeFrame(st.Stream, from, next, s.size(from))
	span := sdk.Span{Stream: st.Stream, From: from, Next: next, Run: st.Run, ExpandedBytes: int64(v.Len())}
	span.CompressedBytes = span.ExpandedBytes
	if s.ratio != nil {
		span.CompressedBytes = max(1, span.ExpandedBytes/s.ratio(from))
	}
	r.fetched -= span.CompressedBytes
	n := int64(v.Len())
	s.peak.Store(max(s.peak.Load(), s.held.Add(n)))
	s.sent.Add(1)
	return r.ev.Batch(r.ctx, &sdk.Batch{Frame: v, Spans: []sdk.Span{span}, Free: func() { s.held.Add(-n) }}) == nil
}

func (r *loadReader) Commit(_ context.Context, ms []sdk.Mark) []error {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if r.s.committed == nil {
		r.s.committed = map[sdk.Stream]int64{}
	}
	for _, m := range ms {
		r.s.committed[m.Stream] = m.Next
	}
	return nil
}

func (r *loadReader) Drop(context.Context, []uint64) error { return nil }

func (r *loadReader) Close(context.Context) error {
	r.cancel()
	r.wg.Wait()
	r.s.closed.Add(1)
	return nil
}

// loadSink writes into a fakeStore, after a while; its target may be away.
type loadSink struct {
	*fakeSink
	down  atomic.Bool
	delay time.Duration // of each batch
}

func (s *loadSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if s.down.Load() {
		return nil, errors.New("connection refused")
	}
	w, err := s.fakeSink.Open(ctx, ses)
	return &loadWriter{w.(*fakeWriter), s}, err
}

type loadWriter struct {
	*fakeWriter
	s *loadSink
}

func (w *loadWriter) Write(ctx context.Context, b *sdk.Batch) error {
	if w.s.down.Load() {
		return errors.New("broken pipe")
	}
	if w.s.delay > 0 && !pause(ctx, w.s.delay) {
		return ctx.Err()
	}
	return w.fakeWriter.Write(ctx, b)
}

// rig is a pipeline under load, running.
type rig struct {
	t      *testing.T
	src    *loadSource
	sink   *loadSink
	p      *Pipeline
	cancel context.CancelFunc
	done   chan error
	// unfinished: the sink cannot answer all before the end.
	unfinished bool
}

// underLoad runs f beside a pipeline, in virtual time.
func underLoad(t *testing.T, src *loadSource, change func(*rig, *Config), f func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, src: src, sink: &loadSink{fakeSink: &fakeSink{store: newStore()}}, done: make(chan error, 1)}
		cfg := Config{Name: "p", Owner: "me", Source: src, Sink: r.sink, SinkCaps: storeCaps,
			SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker}, Logger: quiet()}
		change(r, &cfg)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.p, r.cancel = New(cfg), cancel
		go func() { r.done <- r.p.Run(ctx) }()
		f(r)
		cancel()
		if err := <-r.done; err != nil && !errors.Is(err, ErrStuck) && !(r.unfinished && errors.Is(err, ErrShutdownTimeout)) {
			t.Error(err)
		}
	})
}

// pass lets virtual time pass.
func (r *rig) pass(d time.Duration) { time.Sleep(d) }

func (r *rig) flow() Flow { return r.p.Status().Flow }

// caughtUp waits until everything is durable and committed, and checks it.
func (r *rig) caughtUp(within time.Duration) {
	r.t.Helper()
	all := r.src.records * int64(r.src.parts)
	for end := time.Now().Add(within); r.p.Status().Records < all; time.Sleep(time.Second) {
		if time.Now().After(end) {
			r.t.Fatalf("%d of %d records after %v: %+v", r.p.Status().Records, all, within, r.flow())
		}
	}
	time.Sleep(2 * time.Second)
	r.sink.store.mu.Lock()
	defer r.sink.store.mu.Unlock()
	for i := range r.src.parts {
		rows := r.sink.store.rows[part(i)]
		if int64(len(rows)) != r.src.records {
			r.t.Fatalf("%s has %d rows", part(i), len(rows))
		}
		for pos, n := range rows {
			if n != 1 {
				r.t.Fatalf("position %d of %s was written %d times", pos, part(i), n)
			}
		}
		r.src.mu.Lock()
		if c := r.src.committed[part(i)]; c != r.src.records {
			r.t.Errorf("%s: committed %d", part(i), c)
		}
		r.src.mu.Unlock()
	}
}

// bounded checks INV5 by what the source knows of frames that were not freed.
func (r *rig) bounded(budget int64) {
	r.t.Helper()
	frame := int64(frameLen(r.src.size(0), r.src.perPart))
	for _, at := range []int64{r.src.records / 2, r.src.records - 1} {
		frame = max(frame, int64(frameLen(r.src.size(at), r.src.perPart)))
	}
	if peak := r.src.peak.Load(); peak > budget+2*frame { // one may be on its way to the host
		r.t.Errorf("the host held %d bytes, with a budget of %d and frames of %d", peak, budget, frame)
	}
}

func frameLen(size, records int) int {
	var v frame.View = makeFrame(part(0), 0, int64(records), size)
	return v.Len()
}

func bytesEach(n int) func(int64) int { return func(int64) int { return n } }
