package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// session is what the host's sides of a source's and of a sink's stream have
// in common: how they begin and how they end.
type session struct {
	*life
	out     sender
	pulse   *pulse
	opened  chan struct{} // closed by the receiver at Opened
	stopped chan struct{} // closed by the receiver at Stopped
	done    chan struct{} // closed once every goroutine has ended

	mu      sync.Mutex
	closing bool // nothing is to be told: not opened yet, or being closed
	over    bool // every goroutine has ended
}

var errClosed = &sdk.Error{Kind: sdk.KindRetryable, Scope: sdk.ScopeSession, Err: errors.New("the session has been closed")}

// newSession makes a stream's life, which its opener's context does not bound.
func newSession(ctx context.Context) *session {
	return &session{life: newLife(context.WithoutCancel(ctx)), closing: true,
		opened: make(chan struct{}), stopped: make(chan struct{}), done: make(chan struct{})}
}

// start runs the goroutines. fail is told once why the session ended, if it
// was not the host that ended it, and after everything else has stopped.
func (s *session) start(receive func() error, fail func(error)) {
	s.run(receive)
	s.run(func() error { return s.pulse.watch(s.ctx) })
	s.run(func() error { return s.pulse.talk(s.ctx) })
	go func() {
		<-s.ctx.Done()
		s.wg.Wait()
		s.mu.Lock()
		quiet := s.closing
		s.over = true
		s.mu.Unlock()
		close(s.done)
		if !quiet {
			fail(s.cause())
		}
	}()
}

// awaitOpened returns once the plugin has opened, or why it will not. From
// then on the session's failure is told.
func (s *session) awaitOpened(ctx context.Context) error {
	select {
	case <-s.opened:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.over {
			return s.cause()
		}
		s.closing = false
		return nil
	case <-s.ctx.Done():
		<-s.done
		return s.cause()
	case <-ctx.Done():
		s.abandon(context.Cause(ctx))
		return context.Cause(ctx)
	}
}

// open notes Opened.
func (s *session) open() error {
	select {
	case <-s.opened:
		return violation("a second Opened on one stream")
	default:
		close(s.opened)
		return nil
	}
}

func (s *session) quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// abandon ends the stream without Stop: the plugin aborts.
func (s *session) abandon(cause error) {
	s.quiet()
	s.cancel(cause)
	<-s.done
}

// close asks for Stop and waits for Stopped. When ctx ends first the stream is
// abandoned.
func (s *session) close(ctx context.Context, stop func(deadlineMS int64) any) error {
	s.quiet()
	if ctx.Err() != nil {
		s.abandon(errClosed)
		return context.Cause(ctx)
	}
	if err := s.out.send(stop(untilMS(ctx))); err != nil {
		<-s.ctx.Done() // the receiver learns why
	}
	select {
	case <-s.stopped:
		s.end(errClosed)
		<-s.done
		return nil
	case <-s.ctx.Done():
		<-s.done
		return s.cause()
	case <-ctx.Done():
		s.abandon(errClosed)
		return context.Cause(ctx)
	}
}

// untilMS is how long ctx still has.
func untilMS(ctx context.Context) int64 {
	d, ok := ctx.Deadline()
	if !ok {
		return time.Hour.Milliseconds()
	}
	return max(time.Until(d).Milliseconds(), 1)
}

// send returns why the stream ended rather than that it did.
func (s *session) send(m any) error {
	if err := s.out.send(m); err != nil {
		<-s.ctx.Done()
		return s.cause()
	}
	return nil
}
