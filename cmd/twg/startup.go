package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/sdk"
)

// startup gives up on a pipeline whose source or sink cannot be reached at the
// start: an address that is wrong should not be tried for ever. Once each was
// reached, outages are waited out without end.
type startup struct {
	began   time.Time
	timeout time.Duration
	giveUp  context.CancelFunc

	mu       sync.Mutex
	assigned bool
	err      error // why it was given up
}

// newStartup begins now. A timeout of zero never gives up.
func newStartup(timeout time.Duration, giveUp context.CancelFunc) *startup {
	return &startup{began: time.Now(), timeout: timeout, giveUp: giveUp}
}

// failed gives up if the source never got as far as to be assigned a stream.
func (s *startup) failed(part string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timeout <= 0 || s.err != nil || part == "source" && s.assigned || time.Since(s.began) < s.timeout {
		return
	}
	s.err = fmt.Errorf("the %s was not reached within %s of the start: %w", part, s.timeout, err)
	s.giveUp()
}

// reason is why it was given up, or nil.
func (s *startup) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// lookEvery is how often watchSink looks once the time for the start is over.
const lookEvery = 100 * time.Millisecond

// watchSink gives up if no session of the sink could be opened in time. One
// that is still being opened then has its own bound (sdk.Limits), or has
// reached its target and works: it is waited for.
func (s *startup) watchSink(ctx context.Context, status func() pipeline.Status) {
	if s.timeout <= 0 {
		return
	}
	t := time.NewTimer(s.timeout)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		st := status()
		if st.SinkReached {
			return
		}
		if st.SinkError != nil {
			s.failed("sink", st.SinkError)
			return
		}
		t.Reset(lookEvery)
	}
}

// watchSource returns the source with its failures watched.
func (s *startup) watchSource(source sdk.Source) sdk.Source {
	return watchedSource{source, s}
}

type watchedSource struct {
	sdk.Source
	startup *startup
}

func (w watchedSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	r, err := w.Source.Open(ctx, watchedEvents{ev, w.startup})
	if err != nil {
		w.startup.failed("source", err)
	}
	return r, err
}

type watchedEvents struct {
	sdk.Events
	startup *startup
}

func (w watchedEvents) Assigned(ctx context.Context, as []sdk.Assignment) error {
	w.startup.mu.Lock()
	w.startup.assigned = true
	w.startup.mu.Unlock()
	return w.Events.Assigned(ctx, as)
}

func (w watchedEvents) Fail(err error) {
	w.startup.failed("source", err)
	w.Events.Fail(err)
}
