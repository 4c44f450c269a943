package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/sdk"
)

// source is one life of the source: from Open to Fail or Close. What an old
// one says is ignored.
type source struct {
	p      *Pipeline
	life   context.Context // ends with the source
	cancel context.CancelFunc
	credit *credit
	began  time.Time

	// opened is closed once reader is set.
	opened chan struct{}
	reader sdk.Reader

	failOnce sync.Once
	failed   chan struct{}
	err      error // set before failed is closed

	prepare sync.Mutex // guards ids
	ids     recordid.Hasher
}

// runSource keeps the source open until ctx ends. Closing it is given up when
// end does.
func (p *Pipeline) runSource(ctx, end context.Context) {
	for fails := 0; ctx.Err() == nil; {
		src := p.newSource(ctx)
		began := time.Now()
		err := p.liveSource(ctx, end, src)
		src.cancel()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > healthyAfter {
			fails = 0
		}
		fails++
		p.box.post(func() { p.sourceFailed(src, err) })
		if !pause(ctx, backoff(fails)) {
			return
		}
	}
}

func (p *Pipeline) newSource(ctx context.Context) *source {
	src := &source{p: p, credit: newCredit(), began: time.Now(), opened: make(chan struct{}), failed: make(chan struct{})}
	src.life, src.cancel = context.WithCancel(ctx)
	return src
}

// liveSource opens src and returns when it has failed or must stop.
func (p *Pipeline) liveSource(ctx, end context.Context, src *source) error {
	p.box.post(func() { p.sourceOpening(src) })
	reader, err := p.cfg.Source.Open(ctx, (*events)(src))
	if err != nil {
		return err
	}
	src.reader = reader
	close(src.opened)
	p.box.post(func() {}) // a grant may be due
	select {
	case <-src.failed:
		err = src.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	closing, cancel := context.WithTimeout(end, closeTimeout)
	defer cancel()
	if cerr := reader.Close(closing); cerr != nil && ctx.Err() != nil {
		p.log.Debug("closing the source", "error", cerr)
	}
	return err
}

const (
	closeTimeout = 5 * time.Second
	healthyAfter = 30 * time.Second
)

// isOpen reports whether reader may be used.
func (s *source) isOpen() bool {
	select {
	case <-s.opened:
		return true
	default:
		return false
	}
}

// grant gives the source credit, wherever it keeps it.
func (s *source) grant(n int64) {
	if g, ok := s.reader.(sdk.CreditGranter); ok {
		g.Grant(n)
		return
	}
	s.credit.add(n)
}

// fail ends the source. Any goroutine.
func (s *source) fail(err error) {
	s.failOnce.Do(func() {
		s.err = err
		close(s.failed)
	})
}

// sourceOpening makes src the one whose word counts.
func (p *Pipeline) sourceOpening(src *source) {
	p.src = src
	p.topics = topics{}
	p.flow.adm.ForgetCredit()
}

// sourceFailed forgets everything that the source was assigned.
func (p *Pipeline) sourceFailed(src *source, err error) {
	if p.src != src {
		return
	}
	p.src = nil
	p.flow.adm.ForgetCredit()
	p.stat.SourceRestarts++
	p.stat.Observed.sourceDown(err)
	p.commits.since = time.Time{}
	for _, st := range p.allStreams() {
		p.drop(st)
	}
	if sdk.KindOf(err) == sdk.KindFatal {
		p.halt(err)
		return
	}
	if p.stopping == nil {
		p.log.Warn("source failed; opening it again", "error", err)
	}
}

// backoff is the pause after n failures in a row: 100 ms doubling to 10 s.
func backoff(n int) time.Duration {
	return min(100*time.Millisecond<<min(max(n-1, 0), 10), 10*time.Second)
}

// pause waits; false: ctx ended.
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
