package plugintest

import (
	"context"
	"fmt"
	"testing"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// sinkRig is the host of one case's sink.
type sinkRig struct {
	*bench
	cfg    SinkConfig
	target Target
	proc   *plugins.Process
	caps   sdk.Capabilities
	sink   sdk.Sink
	epochs map[sdk.Stream]sdk.Epoch
	lastID uint64
}

func runSink(t testing.TB, cfg SinkConfig, c testCase[*sinkRig]) error {
	r := &sinkRig{bench: newBench(t, cfg.Binary), cfg: cfg, target: cfg.Target(t), epochs: map[sdk.Stream]sdk.Epoch{}}
	return attempt(func() { c.run(r) })
}

// sinkCapabilities are those with a target's settings. They choose the cases.
func sinkCapabilities(t testing.TB, cfg SinkConfig) (caps sdk.Capabilities) {
	b := newBench(t, cfg.Binary)
	if err := attempt(func() { _, caps = b.configured(cfg.Target(t).Settings, 0) }); err != nil {
		t.Fatal(err)
	}
	b.end()
	return caps
}

// start takes a fresh process.
func (r *sinkRig) start() {
	r.proc, r.caps = r.configured(r.target.Settings, 0)
	r.sink = r.proc.Sink(r.caps)
}

// restart kills the process as kill -9 does, and takes a fresh one.
func (r *sinkRig) restart() {
	r.proc.Kill()
	r.start()
}

// epoch is the stream's fence; the zero Epoch for a sink without.
func (r *sinkRig) epoch(s sdk.Stream) sdk.Epoch {
	if _, ok := r.epochs[s]; !ok && r.caps.Fencing {
		r.epochs[s] = r.acquire("plugintest", s)[0].Epoch
	}
	return r.epochs[s]
}

func (r *sinkRig) store() sdk.OffsetStore {
	store, ok := r.sink.(sdk.OffsetStore)
	if !ok {
		failf("the sink declares %s but no offset_store, which issues epochs", "fencing")
	}
	return store
}

func (r *sinkRig) acquire(owner string, streams ...sdk.Stream) []sdk.Acquired {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.store().Acquire(ctx, owner, streams)
	must(err, "acquire epochs")
	if len(got) != len(streams) {
		failf("acquire epochs of %d streams: %d were issued", len(streams), len(got))
	}
	for i, a := range got {
		if a.Stream != streams[i] || a.Epoch.IsZero() {
			failf("acquire epochs: entry %d is %+v, want one of %s", i, a, streams[i])
		}
	}
	return got
}

// batch makes a batch of one stream under its epoch.
func (r *sinkRig) batch(s sdk.Stream, from, next int64, recs []frame.Record) *sdk.Batch {
	return batchOf(part{s, r.epoch(s), from, next, recs})
}

func (r *sinkRig) full(s sdk.Stream, from, next int64) *sdk.Batch {
	return r.batch(s, from, next, plain(from, next))
}

// both makes a batch of two streams.
func (r *sinkRig) both(from, next int64) *sdk.Batch {
	return batchOf(part{streamA, r.epoch(streamA), from, next, plain(from, next)}, part{streamB, r.epoch(streamB), from, next, plain(from, next)})
}

// sinkSession is an open session and what it reported.
type sinkSession struct {
	*board
	sdk.Writer
	id, seq uint64
	spans   map[uint64]int // of each batch that was sent
	answers map[uint64][]sdk.Outcome
	failed  error
	over    bool
	tooLate int // reports after the end
}

func (r *sinkRig) newSession(g sdk.Granularity) (*sinkSession, sdk.Session) {
	r.lastID++
	s := &sinkSession{board: newBoard(), id: r.lastID, spans: map[uint64]int{}, answers: map[uint64][]sdk.Outcome{}}
	return s, sdk.Session{ID: s.id, Pipeline: "plugintest", Owner: "plugintest", Limits: sdk.DefaultLimits, Granularity: g, Report: s.report,
		Fail: func(err error) { s.set(func() { s.failed = err }) }}
}

func (r *sinkRig) tryOpen(ctx context.Context, g sdk.Granularity) (*sinkSession, error) {
	s, ses := r.newSession(g)
	w, err := r.sink.Open(ctx, ses)
	s.Writer = w
	return s, err
}

// open opens a session, on a fresh process if none runs yet.
func (r *sinkRig) open() *sinkSession {
	if r.proc == nil {
		r.start()
	}
	ctx, cancel := soon()
	defer cancel()
	s, err := r.tryOpen(ctx, sdk.GranularityBatch)
	must(err, "open a session")
	return s
}

func (s *sinkSession) report(rc sdk.Receipt) {
	s.set(func() {
		if s.over {
			s.tooLate++
		}
		s.answers[rc.Seq] = append(s.answers[rc.Seq], rc.Outcomes...)
	})
}

// send gives a batch to the sink and returns its seq.
func (s *sinkSession) send(b *sdk.Batch) uint64 {
	ctx, cancel := soon()
	defer cancel()
	seq, err := s.try(ctx, b)
	if err != nil {
		failf("write batch %d: %w", seq, s.why(err))
	}
	return seq
}

func (s *sinkSession) try(ctx context.Context, b *sdk.Batch) (uint64, error) {
	var seq uint64
	s.set(func() {
		s.seq++
		seq, b.Seq = s.seq, s.seq
		s.spans[seq] = len(b.Spans)
	})
	return seq, s.Write(ctx, b)
}

// why prefers the reason for which the session ended.
func (s *sinkSession) why(err error) error {
	s.within(quiet, func() bool { return s.failed != nil })
	s.get(func() {
		if s.failed != nil {
			err = s.failed
		}
	})
	return err
}

func (s *sinkSession) flush(seq uint64) {
	ctx, cancel := soon()
	defer cancel()
	f, ok := s.Writer.(sdk.Flusher)
	if !ok {
		failf("the host's session has no Flush")
	}
	must(f.Flush(ctx, seq), "flush")
}

// outcomes waits for all outcomes of a batch.
func (s *sinkSession) outcomes(seq uint64) (out []sdk.Outcome) {
	ok := s.within(patience, func() bool { return s.failed != nil || len(s.answers[seq]) >= s.spans[seq] })
	s.get(func() {
		switch {
		case len(s.answers[seq]) >= s.spans[seq]:
			out = s.answers[seq]
		case s.failed != nil:
			failf("the session failed before batch %d was answered: %w", seq, s.failed)
		case !ok:
			failf("batch %d has %d outcomes after %v, want one for each of %d spans", seq, len(s.answers[seq]), patience, s.spans[seq])
		}
	})
	return out
}

// durable waits until batches are answered, every span as durable.
func (s *sinkSession) durable(seqs ...uint64) {
	for _, seq := range seqs {
		for _, o := range s.outcomes(seq) {
			if o.Kind != sdk.Durable {
				failf("batch %d: [%d,%d) of %s is %s (%s), want durable", seq, o.From, o.Next, o.Stream, o.Kind, o.Reason)
			}
		}
	}
}

// deliver sends batches, asks for their receipts and waits for them.
func (s *sinkSession) deliver(bs ...*sdk.Batch) {
	var seqs []uint64
	for _, b := range bs {
		seqs = append(seqs, s.send(b))
	}
	s.flush(s.seq)
	s.durable(seqs...)
}

// close ends the session in good order.
func (s *sinkSession) close() {
	ctx, cancel := soon()
	defer cancel()
	if err := s.Close(ctx); err != nil {
		failf("stop: %w", err)
	}
	s.set(func() { s.over = true })
}

// abort ends the session as a host does that gives it up.
func (s *sinkSession) abort() {
	s.set(func() { s.over = true })
	s.Close(ended())
}

// silent fails if anything was reported after the session's end.
func (s *sinkSession) silent() {
	if s.within(quiet, func() bool { return s.tooLate > 0 }) {
		failf("session %d reported after its end", s.id)
	}
}

// holds compares the target with what was delivered. repeats: a row may be
// there more than once, if the sink says that it appends.
func (r *sinkRig) holds(repeats bool, delivered ...*sdk.Batch) {
	want := map[string]Row{}
	for _, b := range delivered {
		for _, row := range rowsOf(b) {
			want[row.name()] = row
		}
	}
	got, err := r.target.ReadBack()
	must(err, "read the target back")
	seen := map[string]bool{}
	for _, g := range got {
		w, ok := want[g.name()]
		if !ok {
			failf("the target has a row for %s, which was not delivered", g.name())
		}
		if d := differ(g.Record, w.Record); d != "" {
			failf("the row for %s: %s", g.name(), d)
		}
		if seen[g.name()] && !(repeats && r.caps.AppendOnly) {
			failf("the target has two rows for %s", g.name())
		}
		seen[g.name()] = true
	}
	for name := range want {
		if !seen[name] {
			failf("no row for %s, whose batch was answered as durable", name)
		}
	}
}

func (row Row) name() string {
	return fmt.Sprintf("%s/%d@%d", row.Topic, row.Partition, row.Position)
}
