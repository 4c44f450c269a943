package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
)

// session is one sink session: a queue that the loop fills (what is in it has
// been admitted, so the budget bounds it) and one goroutine that writes it.
type session struct {
	id uint64

	mu      sync.Mutex
	queue   []*sdk.Batch
	queued  int64  // what the budget is charged for queue
	took    uint64 // the newest seq that the writer has taken
	tookAt  time.Time
	below   int64 // once queued is, the loop wants to know; 0: it does not
	tell    func()
	charge  func(*sdk.Batch) int64
	flushTo uint64
	wake    chan struct{} // for the writer
	wakeFl  chan struct{} // for the flusher

	once   sync.Once
	failed chan struct{}
	err    error // set before failed is closed
	stop   <-chan struct{}
}

// newSession returns a session that nothing serves yet. tell wakes the loop.
func newSession(id uint64, stop <-chan struct{}, charge func(*sdk.Batch) int64, tell func()) *session {
	return &session{id: id, charge: charge, tell: tell, wake: make(chan struct{}, 1), wakeFl: make(chan struct{}, 1),
		failed: make(chan struct{}), stop: stop}
}

func (s *session) push(b *sdk.Batch) {
	s.mu.Lock()
	s.queue = append(s.queue, b)
	s.queued += s.charge(b)
	s.mu.Unlock()
	signal(s.wake)
}

// waiting is what the budget is charged for what the writer has not taken yet.
func (s *session) waiting() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}

// blocked is how long a writer may take nothing: then the sink takes nothing,
// and may wait for a Flush before it does.
const blocked = 250 * time.Millisecond

// isBelow reports whether less than that is waiting, or the writer is blocked
// while it should. If not, the loop is told when less is.
func (s *session) isBelow(charge int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queued < charge {
		return true
	}
	s.below = max(charge, 0)
	return charge > 0 && time.Since(s.tookAt) > blocked
}

// taken is the newest seq that the writer has taken.
func (s *session) taken() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.took
}

func (s *session) flush(seq uint64) {
	s.mu.Lock()
	s.flushTo = seq
	s.mu.Unlock()
	signal(s.wakeFl)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// fail ends the session. Any goroutine; the first call counts.
func (s *session) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
	})
}

var errStopped = errors.New("stopped")

// runSink keeps a sink session open until ctx ends or the pipeline stops.
// Closing it is given up when end does.
func (p *Pipeline) runSink(ctx, end context.Context) {
	id := randomID()
	for fails := 0; ctx.Err() == nil; {
		id++
		ses := newSession(id, p.stopSink, p.charge, func() { p.box.post(func() {}) })
		began := time.Now()
		err := p.liveSession(ctx, end, ses)
		if errors.Is(err, errStopped) || ctx.Err() != nil {
			return
		}
		if time.Since(began) > healthyAfter {
			fails = 0
		}
		fails++
		p.box.post(func() { p.sessionDown(ses, err) })
		if !p.pauseOrStop(ctx, backoff(fails)) {
			return
		}
	}
}

// pauseOrStop waits; false: the pipeline ends.
func (p *Pipeline) pauseOrStop(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.stopSink:
		return false
	case <-ctx.Done():
		return false
	}
}

// liveSession opens a session and serves it until it fails or is stopped.
func (p *Pipeline) liveSession(ctx, end context.Context, ses *session) error {
	w, err := p.cfg.Sink.Open(ctx, sdk.Session{
		ID: ses.id, Pipeline: p.cfg.Name, Owner: p.cfg.Owner, Limits: p.cfg.Limits, Granularity: p.sinkGranularity(),
		Report:  func(r sdk.Receipt) { p.box.post(func() { p.receipt(ses, r) }) },
		Flushed: func(uint64) {}, // a sink that gates is durable
		Fail:    ses.fail,
	})
	if err != nil {
		return err
	}
	if err := p.compare(ctx); err != nil {
		p.closeWriter(end, w, err)
		return err
	}
	p.box.post(func() { p.sessionUp(ses) })
	life, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { ses.write(life, w) })
	wg.Go(func() { ses.flusher(life, w) })
	select {
	case <-ses.failed:
		err = ses.err
	case <-ses.stop:
		err = errStopped
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.closeWriter(end, w, err)
	cancel()
	wg.Wait()
	return err
}

// closeWriter ends a session in good order if it was stopped, else aborts it.
func (p *Pipeline) closeWriter(end context.Context, w sdk.Writer, why error) {
	closing, cancel := context.WithTimeout(end, closeTimeout)
	defer cancel()
	if why != errStopped {
		cancel() // abort
	}
	if err := w.Close(closing); err != nil && why == errStopped {
		p.log.Warn("closing the sink", "error", err)
	}
}

// write sends what the loop queues, in order.
func (s *session) write(ctx context.Context, w sdk.Writer) {
	for {
		b := s.pop(ctx)
		if b == nil {
			return
		}
		faultpoint.Hit("write")
		if err := w.Write(ctx, b); err != nil {
			s.fail(err)
			return
		}
	}
}

func (s *session) pop(ctx context.Context) *sdk.Batch {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			b := s.queue[0]
			s.queue[0] = nil
			s.queue = s.queue[1:]
			s.queued -= s.charge(b)
			s.took, s.tookAt = b.Seq, time.Now()
			tell := s.queued < s.below
			if tell {
				s.below = 0
			}
			s.mu.Unlock()
			if tell {
				s.tell()
			}
			return b
		}
		s.mu.Unlock()
		select {
		case <-s.wake:
		case <-s.failed:
			return nil
		case <-s.stop:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// flusher passes Flush on, beside a Write that may be blocked.
func (s *session) flusher(ctx context.Context, w sdk.Writer) {
	f, ok := w.(sdk.Flusher)
	for {
		select {
		case <-s.wakeFl:
		case <-s.failed:
			return
		case <-s.stop:
			return
		case <-ctx.Done():
			return
		}
		s.mu.Lock()
		seq := s.flushTo
		s.mu.Unlock()
		if !ok {
			continue // each batch is answered by itself
		}
		if err := f.Flush(ctx, seq); err != nil {
			s.fail(err)
			return
		}
	}
}

func (p *Pipeline) sinkGranularity() sdk.Granularity {
	for _, g := range p.cfg.TopicGranularity {
		if g == sdk.GranularityRecord {
			return g
		}
	}
	return p.cfg.Granularity
}
