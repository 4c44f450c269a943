package lane

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// session is one life of the sink's stream.
type session struct {
	id   uint64
	sent map[uint64]*piece // by seq
	seq  uint64
	// Of what was sent: up to which seq a Flush has asked for receipts, the
	// bytes after it, and when the first of them was sent.
	flushed uint64
	pending int64
	oldest  time.Time
	written written // of a sink with DurableFlush

	once   sync.Once
	failed chan struct{}
	err    error
}

// fail ends the session. Any goroutine; the first call counts.
func (s *session) fail(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.failed)
	})
}

const (
	closeTimeout = 5 * time.Second
	healthyAfter = 30 * time.Second
)

// backoff is the pause after n failures in a row: 100 ms doubling to 30 s.
func backoff(n int) time.Duration {
	return min(100*time.Millisecond<<min(max(n-1, 0), 10), 30*time.Second)
}

// Run delivers until ctx ends. Call it once.
func (l *Lane) Run(ctx context.Context) {
	var wg sync.WaitGroup
	defer l.discard()
	defer wg.Wait()
	wg.Go(func() { l.record(ctx) })
	var first [8]byte
	rand.Read(first[:]) // never fails
	id := binary.BigEndian.Uint64(first[:]) >> 2
	for fails := 0; ctx.Err() == nil; {
		id++
		began := time.Now()
		err := l.live(ctx, id)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > healthyAfter {
			fails = 0
		}
		fails++
		l.log.Warn("secondary's session ended; opening a new one", "error", err, "in", backoff(fails))
		if !pause(ctx, backoff(fails)) {
			return
		}
	}
}

// discard gives up what is left when the lane ends. The floor stays below it.
func (l *Lane) discard() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain, l.closed = true, true
	for p := range l.later {
		l.queue = append(l.queue, p)
	}
	for _, p := range l.queue {
		for i, r := range p.rows {
			if p.open[i] {
				l.stat.Unanswered += int64(r.To - r.From)
			}
		}
		clear(p.open)
		l.free(p)
	}
	l.queue = nil
}

func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// live opens a session and serves it until it fails or ctx ends.
func (l *Lane) live(ctx context.Context, id uint64) error {
	ses := &session{id: id, sent: map[uint64]*piece{}, failed: make(chan struct{})}
	w, err := l.cfg.Sink.Open(ctx, sdk.Session{
		ID: id, Pipeline: l.cfg.Pipeline, Owner: l.cfg.Owner, Limits: l.cfg.Limits,
		Report: func(r sdk.Receipt) { l.receipt(ses, r) }, Fail: ses.fail,
		Flushed: func(seq uint64) { l.flushed(ses, seq) },
	})
	if err != nil {
		l.ended(nil, err)
		return err
	}
	l.mu.Lock()
	l.ses = ses
	l.mu.Unlock()
	life, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { l.write(life, ses, w) })
	wg.Go(func() { l.flush(life, ses, w) })
	select {
	case <-ses.failed:
		err = ses.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.closeWriter(ctx, w)
	cancel()
	wg.Wait()
	l.ended(ses, err)
	return err
}

// closeWriter ends a session in good order if the lane ends, else aborts it.
func (l *Lane) closeWriter(ctx context.Context, w sdk.Writer) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if ctx.Err() == nil {
		cancel() // abort
	}
	if err := w.Close(closing); err != nil {
		l.log.Debug("closing a secondary", "error", err)
	}
}

// ended puts what was not answered back, in its old order.
func (l *Lane) ended(ses *session, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stat.Err = err
	l.stat.Restarts++
	l.ses = nil
	wake(l.wakeDrain)
	if ses == nil {
		return
	}
	back := slices.SortedFunc(maps.Values(ses.sent), func(a, b *piece) int { return int(int64(a.id) - int64(b.id)) })
	ses.sent = nil
	l.unflushed(ses)
	l.queue = append(back, l.queue...)
	l.dropQueued()
}

// dropQueued takes what is of runs that were dropped out of the queue. l.mu
// is held.
func (l *Lane) dropQueued() {
	l.queue = slices.DeleteFunc(l.queue, func(p *piece) bool {
		for i, sp := range p.batch.Spans {
			if p.stale[i] || l.stream(sp.Stream).dropped {
				p.open[i] = false
			}
		}
		return l.free(p)
	})
}

func (l *Lane) write(ctx context.Context, ses *session, w sdk.Writer) {
	for {
		b := l.next(ctx, ses)
		if b == nil {
			return
		}
		faultpoint.Hit("secondary-write")
		if err := w.Write(ctx, b); err != nil {
			ses.fail(err)
			return
		}
	}
}

// next waits for a batch to send. nil: the session is over.
func (l *Lane) next(ctx context.Context, ses *session) *sdk.Batch {
	for {
		if b := l.pop(ses); b != nil {
			return b
		}
		select {
		case <-l.wakeWriter:
		case <-ses.failed:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// pop makes a batch of what is open of the first piece.
func (l *Lane) pop(ses *session) *sdk.Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 || ses.sent == nil || ses.written.full() {
		return nil
	}
	p := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	ses.seq++
	ses.sent[ses.seq] = p
	p.sent = true
	p.asked = slices.Clone(p.open)
	if coverAtSend {
		for _, s := range p.batch.Spans {
			st := l.stream(s.Stream)
			st.held = append(st.held, coverage.Interval{From: s.From, Next: s.Next})
		}
		wake(l.wakeRecorder)
	}
	p.at = time.Now()
	if ses.pending == 0 {
		ses.oldest = p.at
	}
	ses.pending += p.batch.Bytes()
	wake(l.wakeFlusher)
	b := p.compose(ses.seq)
	l.cfg.Sent(b)
	return b
}

// compose makes the batch to send; its payload is never rewritten.
func (p *piece) compose(seq uint64) *sdk.Batch {
	b := &sdk.Batch{Seq: seq, Frame: p.batch.Frame, IDs: p.batch.IDs, Rows: []sdk.RowRange{}}
	for i, s := range p.batch.Spans {
		if !p.open[i] {
			continue
		}
		b.Spans = append(b.Spans, s)
		if r := p.rows[i]; r.From < r.To {
			b.Rows = append(b.Rows, r)
		}
	}
	return b
}

// flush asks for receipts when a sink that acknowledges at close would
// otherwise wait for data that has no room in the buffer.
func (l *Lane) flush(ctx context.Context, ses *session, w sdk.Writer) {
	f, ok := w.(sdk.Flusher)
	if !ok {
		return // each batch is answered by itself
	}
	tick := time.NewTicker(max(l.cfg.MaxAckDelay/10, 10*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-l.wakeFlusher:
		case <-tick.C:
		case <-ses.failed:
			return
		case <-ctx.Done():
			return
		}
		seq := l.flushDue(ses)
		if seq == 0 {
			continue
		}
		if err := f.Flush(ctx, seq); err != nil {
			ses.fail(err)
			return
		}
	}
}

// flushDue returns the seq to flush to, or 0.
func (l *Lane) flushDue(ses *session) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ses.flushed == ses.seq || len(ses.sent) == 0 && len(ses.written) == 0 {
		return 0
	}
	if ses.pending <= l.cfg.Buffer/2 && time.Since(ses.oldest) < l.cfg.MaxAckDelay && !(l.drain && len(l.queue) == 0) && !ses.written.full() {
		return 0
	}
	ses.flushed, ses.pending = ses.seq, 0
	return ses.seq
}
