package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// fakeTopic is a source's server: streams of numbered records and committed
// positions. It outlives sources.
type fakeTopic struct {
	mu        sync.Mutex
	ends      map[sdk.Stream]int64
	starts    map[sdk.Stream]int64 // retention
	committed map[sdk.Stream]int64
	commits   []sdk.Mark
	valueSize int
	initial   sdk.StartAt
	commitErr error
}

func newTopic(parts int, n int64) *fakeTopic {
	t := &fakeTopic{ends: map[sdk.Stream]int64{}, starts: map[sdk.Stream]int64{}, committed: map[sdk.Stream]int64{}, valueSize: 10, initial: sdk.StartEarliest}
	for i := range parts {
		t.ends[part(i)] = n
	}
	return t
}

func part(i int) sdk.Stream { return sdk.Stream{Topic: "t", Incarnation: "i", Partition: int32(i)} }

func (t *fakeTopic) committedAt(s sdk.Stream) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.committed[s]; ok {
		return c
	}
	return sdk.NoPosition
}

// fakeSource reads a fakeTopic. It is also its own Reader, one life at a time.
type fakeSource struct {
	topic *fakeTopic
	opens int
	mu    sync.Mutex
	life  *fakeReader
}

func (s *fakeSource) Describe() sdk.Description { return sdk.Description{Name: "fake"} }
func (s *fakeSource) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (s *fakeSource) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &fakeReader{topic: s.topic, ev: ev, ctx: ctx, cancel: cancel, runs: map[uint64]context.CancelFunc{}, byStream: map[sdk.Stream]uint64{}}
	s.mu.Lock()
	s.life = r
	s.opens++
	s.mu.Unlock()
	r.wg.Go(r.announce)
	return r, nil
}

func (s *fakeSource) reader() *fakeReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

type fakeReader struct {
	topic    *fakeTopic
	ev       sdk.Events
	ctx      context.Context
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	mu       sync.Mutex
	runs     map[uint64]context.CancelFunc
	byStream map[sdk.Stream]uint64
	deliver  sync.Mutex // one frame at a time
}

func (r *fakeReader) announce() {
	var as []sdk.Assignment
	r.topic.mu.Lock()
	for s := range r.topic.ends {
		a := sdk.Assignment{Stream: s, Committed: sdk.NoPosition, Initial: r.topic.initial}
		if c, ok := r.topic.committed[s]; ok {
			a.Committed, a.CommittedIncarnation = c, s.Incarnation
		}
		as = append(as, a)
	}
	r.topic.mu.Unlock()
	r.ev.Assigned(r.ctx, as)
}

func (r *fakeReader) Resolve(_ context.Context, qs []sdk.Query) (out []sdk.Resolved, _ error) {
	r.topic.mu.Lock()
	defer r.topic.mu.Unlock()
	for _, q := range qs {
		at := r.topic.starts[q.Stream]
		if q.At == sdk.StartLatest {
			at = r.topic.ends[q.Stream]
		}
		out = append(out, sdk.Resolved{Stream: q.Stream, Position: at})
	}
	return out, nil
}

// Start may be called beside Close, which ends it.
func (r *fakeReader) Start(_ context.Context, sts []sdk.Start) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	for _, st := range sts {
		if before := r.runs[r.byStream[st.Stream]]; before != nil {
			before()
		}
		ctx, cancel := context.WithCancel(r.ctx)
		r.runs[st.Run] = cancel
		r.byStream[st.Stream] = st.Run
		r.wg.Go(func() { r.run(ctx, st) })
	}
	return nil
}

// run delivers a stream from its start to its end, three records a frame.
func (r *fakeReader) run(ctx context.Context, st sdk.Start) {
	at := st.Position
	for ctx.Err() == nil {
		r.topic.mu.Lock()
		end, first := r.topic.ends[st.Stream], r.topic.starts[st.Stream]
		r.topic.mu.Unlock()
		r.ev.Lag([]sdk.Lag{{Stream: st.Stream, Run: st.Run, End: end}})
		if at < first {
			r.ev.Gap(sdk.Gap{Stream: st.Stream, Run: st.Run, Wanted: at, Available: first, Cause: sdk.GapOutOfRange, Reason: "retention"})
			return
		}
		if at == end {
			if !pause(ctx, 100*time.Millisecond) {
				return
			}
			continue
		}
		next := min(at+3, end)
		if !r.send(ctx, st, at, next) {
			return
		}
		at = next
	}
}

func (r *fakeReader) send(ctx context.Context, st sdk.Start, from, next int64) bool {
	r.deliver.Lock()
	defer r.deliver.Unlock()
	if _, err := r.ev.WaitCredit(ctx); err != nil {
		return false
	}
	b := &sdk.Batch{Frame: makeFrame(st.Stream, from, next, r.topic.valueSize),
		Spans: []sdk.Span{{Stream: st.Stream, From: from, Next: next, Run: st.Run}}}
	return r.ev.Batch(ctx, b) == nil
}

func makeFrame(s sdk.Stream, from, next int64, size int) frame.View {
	var fb frame.Builder
	fb.Reset()
	k := fb.Stream(s)
	for p := from; p < next; p++ {
		v := make([]byte, size)
		copy(v, fmt.Sprint(p))
		fb.Append(k, &frame.Record{Position: p, Value: v})
	}
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

func (r *fakeReader) Commit(_ context.Context, ms []sdk.Mark) []error {
	r.topic.mu.Lock()
	defer r.topic.mu.Unlock()
	errs := make([]error, len(ms))
	for i, m := range ms {
		if errs[i] = r.topic.commitErr; errs[i] == nil {
			r.topic.committed[m.Stream] = m.Next
			r.topic.commits = append(r.topic.commits, m)
		}
	}
	return errs
}

func (r *fakeReader) Drop(_ context.Context, runs []uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range runs {
		if c := r.runs[id]; c != nil {
			c()
			delete(r.runs, id)
		}
	}
	return nil
}

// hasOther reports whether m's stream has another run than m names.
func (r *fakeReader) hasOther(m sdk.Mark) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.byStream[m.Stream]
	return r.runs[id] != nil && id != m.Run
}

func (r *fakeReader) Close(context.Context) error {
	r.mu.Lock()
	r.cancel()
	r.mu.Unlock()
	r.wg.Wait()
	return nil
}

// fakeStore is what a sink's target holds: it outlives sessions.
type fakeStore struct {
	mu     sync.Mutex
	rows   map[sdk.Stream]map[int64]int // how often each position was written
	cov    map[sdk.Stream]*coverage.Set
	epochs map[sdk.Stream]sdk.Epoch
}

func newStore() *fakeStore {
	return &fakeStore{rows: map[sdk.Stream]map[int64]int{}, cov: map[sdk.Stream]*coverage.Set{}, epochs: map[sdk.Stream]sdk.Epoch{}}
}

func (s *fakeStore) set(k sdk.Stream) *coverage.Set {
	if s.cov[k] == nil {
		s.cov[k] = &coverage.Set{}
	}
	return s.cov[k]
}

// write makes a batch's new rows durable, unless a span is fenced.
func (s *fakeStore) write(b *sdk.Batch) sdk.OutcomeKind {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range b.Spans {
		if sp.Epoch != s.epochs[sp.Stream] {
			return sdk.Fenced
		}
	}
	for _, rr := range b.RowRanges() {
		for i := rr.From; i < rr.To; i++ {
			k := b.Frame.Stream(b.Frame.StreamIndex(i))
			pos := b.Frame.Position(i)
			if len(s.set(k).HeldWithin(coverage.Interval{From: pos, Next: pos + 1})) > 0 {
				continue
			}
			if s.rows[k] == nil {
				s.rows[k] = map[int64]int{}
			}
			s.rows[k][pos]++
		}
	}
	for _, sp := range b.Spans {
		s.set(sp.Stream).AddHeld(coverage.Interval{From: sp.From, Next: sp.Next})
	}
	return sdk.Durable
}

// fakeSink writes into a fakeStore. script may answer a batch in another way.
type fakeSink struct {
	store  *fakeStore
	hold   bool // answer at Flush only
	script func(w *fakeWriter, b *sdk.Batch) (handled bool)
	// onRecord is called before coverage is recorded, with the store locked.
	onRecord func()
	// onAcquired is called when epochs were issued, with the store locked; with
	// an error the caller does not hear of them.
	onAcquired func() error
	mu         sync.Mutex
	opens      int
	writer     *fakeWriter
	batch      int // batches seen
}

func (s *fakeSink) Describe() sdk.Description { return sdk.Description{Name: "fake"} }
func (s *fakeSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{}, nil
}

func (s *fakeSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	s.writer = &fakeWriter{sink: s, ses: ses}
	return s.writer, nil
}

func (s *fakeSink) Acquire(_ context.Context, _ string, ks []sdk.Stream) (out []sdk.Acquired, _ error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, k := range ks {
		e := s.store.epochs[k]
		e.Number++
		s.store.epochs[k] = e
		out = append(out, sdk.Acquired{Stream: k, Epoch: e})
	}
	if s.onAcquired != nil {
		if err := s.onAcquired(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *fakeSink) Coverage(_ context.Context, _ string, ks []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, k := range ks {
		out = append(out, sdk.StreamCoverage{Stream: k, Set: s.store.set(k).Clone()})
	}
	return out, nil
}

func (s *fakeSink) Cursors(context.Context, []sdk.Stream) ([]sdk.Cursor, error) { return nil, nil }

func (s *fakeSink) Record(_ context.Context, _ string, rs []sdk.CoverageRecord) error {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if s.onRecord != nil {
		s.onRecord()
	}
	for _, r := range rs {
		if r.Epoch != s.store.epochs[r.Stream] {
			return sdk.Errorf(sdk.KindFenced, "record", "stale epoch")
		}
		for _, v := range r.Void {
			s.store.set(r.Stream).AddVoid(v)
		}
	}
	return nil
}

type fakeWriter struct {
	sink    *fakeSink
	ses     sdk.Session
	mu      sync.Mutex
	held    []*sdk.Batch
	flushTo uint64
}

func (w *fakeWriter) Write(_ context.Context, b *sdk.Batch) error {
	w.sink.mu.Lock()
	w.sink.batch++
	script := w.sink.script
	w.sink.mu.Unlock()
	if script != nil && script(w, b) {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sink.hold && b.Seq > w.flushTo {
		w.held = append(w.held, b)
		return nil
	}
	w.ses.Report(sdk.AllOutcome(w.ses.ID, b, w.sink.store.write(b), ""))
	return nil
}

func (w *fakeWriter) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushTo = seq
	var rest []*sdk.Batch
	for _, b := range w.held {
		if b.Seq > seq {
			rest = append(rest, b)
			continue
		}
		w.ses.Report(sdk.AllOutcome(w.ses.ID, b, w.sink.store.write(b), ""))
	}
	w.held = rest
	return nil
}

func (w *fakeWriter) Close(context.Context) error { return nil }

var storeCaps = sdk.Capabilities{Durable: true, OffsetStore: true, Fencing: true, Idempotent: true}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func config(topic *fakeTopic, sink *fakeSink) Config {
	return Config{Name: "p", Owner: "me", Source: &fakeSource{topic: topic}, Sink: sink, SinkCaps: storeCaps,
		SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker}, UntilCaughtUp: true, Logger: quiet()}
}

// wantAll checks that each position of the topic is in the store once and
// committed.
func wantAll(t *testing.T, topic *fakeTopic, store *fakeStore) {
	t.Helper()
	for s, end := range topic.ends {
		for p := topic.starts[s]; p < end; p++ {
			if n := store.rows[s][p]; n != 1 {
				t.Fatalf("position %d of %s is there %d times", p, s, n)
			}
		}
		if c := topic.committedAt(s); c != end {
			t.Errorf("%s: committed %d, want %d", s, c, end)
		}
	}
}

func (t *fakeTopic) allCommits() []sdk.Mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.commits)
}

func (r *fakeReader) runOf(s sdk.Stream) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byStream[s]
}
