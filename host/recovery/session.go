package recovery

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// session is the secondary's stream for what is rebuilt. One goroutine writes;
// receipts come from others.
type session struct {
	id  uint64
	w   sdk.Writer
	seq uint64
	// flushes: receipts promise nothing before the sink has flushed.
	flushes bool
	// life ends when the session fails: a Write that waits for room returns.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	open    map[uint64]*sent
	bytes   int64
	held    coverage.Set // what is durable of the window that is worked on
	aside   coverage.Set // what the sink refuses for good
	written []written    // what it has and may lose
	refused []*sent      // to be sent again
	// refusedBytes are those of refused, which stay in memory until then.
	refusedBytes int64
	changed      chan struct{}
	err          error
}

// written is what a receipt said of the window, with nothing flushed since.
type written struct {
	seq  uint64
	held []coverage.Interval
}

// sent is a batch without its receipt: one span.
type sent struct {
	batch *sdk.Batch
	span  sdk.Span
	frame *kept
}

// kept is a replayed frame, of which one batch or more were sent. What is not
// answered when its session ends is left to the garbage collector.
type kept struct {
	refs int // those of its batches that are not settled; session.mu
	free func()
}

// settled gives the frame back with the last of its batches.
func (k *kept) settled() {
	if k.refs--; k.refs == 0 && k.free != nil {
		k.free()
	}
}

func (r *Worker) openSession(ctx context.Context) (*session, error) {
	r.lastSession++
	s := &session{id: r.lastSession, open: map[uint64]*sent{}, changed: make(chan struct{}, 1), flushes: r.cfg.DurableFlush}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	w, err := r.cfg.Sink.Open(ctx, sdk.Session{
		ID: s.id, Pipeline: r.cfg.Pipeline, Owner: r.cfg.Owner, Limits: r.cfg.Limits, Report: s.receipt, Flushed: s.flushed, Fail: s.fail,
	})
	if err != nil {
		s.end()
		return nil, fmt.Errorf("open secondary %s: %w", r.cfg.Lane, err)
	}
	s.w = w
	return s, nil
}

func (s *session) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked(err)
}

func (s *session) failLocked(err error) {
	if s.err == nil {
		s.err = err
		s.end()
	}
	s.signal()
}

func (s *session) receipt(r sdk.Receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.open[r.Seq]
	if b == nil || len(r.Outcomes) != 1 {
		s.failLocked(sdk.Errorf(sdk.KindRetryable, "talk to the sink", "a receipt for batch %d, which is not open, or not for its one span", r.Seq))
		return
	}
	o := &r.Outcomes[0]
	if o.Stream != b.span.Stream || o.Run != b.span.Run || o.From != b.span.From || o.Next != b.span.Next {
		s.failLocked(sdk.Errorf(sdk.KindRetryable, "talk to the sink", "a receipt for [%d,%d) of %s in batch %d, which is not open there", o.From, o.Next, o.Stream, r.Seq))
		return
	}
	delete(s.open, r.Seq)
	s.bytes -= b.batch.Bytes()
	switch o.Kind {
	case sdk.Durable, sdk.Written:
		s.hold(r.Seq, []coverage.Interval{{From: o.From, Next: o.Next}})
		b.frame.settled()
	case sdk.Rejected:
		s.reject(r.Seq, o)
		b.frame.settled()
	default:
		s.refused = append(s.refused, b)
		s.refusedBytes += b.batch.Bytes()
	}
	s.signal()
}

// reject notes what the sink refuses for good; all of the span if it names no
// row. The rest is durable.
func (s *session) reject(seq uint64, o *sdk.Outcome) {
	span := coverage.Interval{From: o.From, Next: o.Next}
	var not coverage.Set
	for _, r := range o.Rejected {
		not.AddHeld(coverage.Interval{From: r.Position, Next: r.Position + 1})
	}
	if len(o.Rejected) == 0 {
		not.AddHeld(span)
	}
	for _, i := range not.HeldWithin(span) {
		s.aside.AddHeld(i)
	}
	s.hold(seq, not.Missing(span))
}

// hold notes what the sink has, or may have. s.mu is held.
func (s *session) hold(seq uint64, held []coverage.Interval) {
	if s.flushes {
		s.written = append(s.written, written{seq, held})
		return
	}
	for _, i := range held {
		s.held.AddHeld(i)
	}
}

// flushed: what was written up to seq is durable.
func (s *session) flushed(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = slices.DeleteFunc(s.written, func(w written) bool {
		if w.seq > seq {
			return false
		}
		for _, i := range w.held {
			s.held.AddHeld(i)
		}
		return true
	})
	s.signal()
}

// send writes a batch of one span.
func (s *session) send(ctx context.Context, b *sent) error {
	s.mu.Lock()
	s.seq++
	b.batch.Seq = s.seq
	s.open[s.seq] = b
	s.bytes += b.batch.Bytes()
	err := s.err
	s.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	return s.w.Write(ctx, b.batch)
}

// settle waits until at most bytes are unanswered, and, if that is 0, nothing
// at all, nor written and not flushed. It asks the sink for receipts.
func (s *session) settle(ctx context.Context, bytes int64) error {
	if f, ok := s.w.(sdk.Flusher); ok {
		if err := f.Flush(ctx, s.seq); err != nil {
			return fmt.Errorf("flush: %w", err)
		}
	}
	for {
		s.mu.Lock()
		done, err := s.bytes <= bytes && (bytes > 0 || len(s.open)+len(s.written) == 0), s.err
		s.mu.Unlock()
		if err != nil || done {
			return err
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *session) unanswered() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// inMemory are the bytes that are unanswered, and those of them that were
// refused and wait to be sent again.
func (s *session) inMemory() (all, refused int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes + s.refusedBytes, s.refusedBytes
}

func (s *session) takeRefused() []*sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.refused
	s.refused, s.refusedBytes = nil, 0
	return r
}

// take returns what was settled since the last call.
func (s *session) take() (held, aside coverage.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, aside = s.held, s.aside
	s.held, s.aside = coverage.Set{}, coverage.Set{}
	return held, aside
}

// close ends the session; what is unanswered is aborted.
func (s *session) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if s.unanswered() > 0 {
		cancel()
	}
	s.end()
	_ = s.w.Close(ctx) // what it had to say was in its receipts
}

const closeTimeout = 5 * time.Second
