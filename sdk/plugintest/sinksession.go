package plugintest

import (
	"context"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// sinkSession is an open session and what it reported.
type sinkSession struct {
	*board
	sdk.Writer
	caps    sdk.Capabilities
	id, seq uint64
	flushed uint64         // everything up to it is on stable storage, as the sink says
	spans   map[uint64]int // of each batch that was sent
	answers map[uint64][]sdk.Outcome
	failed  error
	over    bool
	tooLate int // reports after the end
}

func (r *sinkRig) newSession(g sdk.Granularity) (*sinkSession, sdk.Session) {
	r.lastID++
	s := &sinkSession{board: newBoard(), caps: r.caps, id: r.lastID, spans: map[uint64]int{}, answers: map[uint64][]sdk.Outcome{}}
	return s, sdk.Session{ID: s.id, Pipeline: "plugintest", Owner: "plugintest", Limits: sdk.DefaultLimits, Granularity: g, Report: s.report,
		Flushed: func(seq uint64) { s.set(func() { s.flushed = seq }) },
		Fail:    func(err error) { s.set(func() { s.failed = err }) }}
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

// durable waits until batches are answered, every span as durable; of a sink
// with durable_flush as written, and flushed since.
func (s *sinkSession) durable(seqs ...uint64) {
	s.taken(seqs...)
	if !s.caps.FlushesLater() {
		return
	}
	last := slices.Max(seqs)
	ok := s.within(patience, func() bool { return s.failed != nil || s.flushed >= last })
	s.get(func() {
		if s.flushed < last {
			failf("batch %d was written; Flushed names %d (in time: %t, error: %v)", last, s.flushed, ok, s.failed)
		}
	})
}

// taken waits until batches are answered: as durable, or, if the sink is not,
// as written.
func (s *sinkSession) taken(seqs ...uint64) {
	for _, seq := range seqs {
		for _, o := range s.outcomes(seq) {
			if !s.good(o.Kind) {
				failf("batch %d: [%d,%d) of %s is %s (%s), want durable, or written of a sink that is not", seq, o.From, o.Next, o.Stream, o.Kind, o.Reason)
			}
		}
	}
}

func (s *sinkSession) good(k sdk.OutcomeKind) bool {
	switch {
	case s.caps.Durable:
		return k == sdk.Durable
	case s.caps.DurableFlush:
		return k == sdk.Written
	}
	return k == sdk.Durable || k == sdk.Written
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
