package source

import (
	"context"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// stream is the one stream of the source, with the run that the host has
// started. Safe for concurrent use.
type stream struct {
	id sdk.Stream

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when anything changes
	assigned bool
	run      *run // nil: none, or one that has ended
}

// run is one run. Who sends holds turn, and owns next then.
type run struct {
	id   uint64
	next int64
	turn chan struct{} // one slot
	// ctx ends with the run.
	ctx context.Context
	end context.CancelFunc

	durable int64 // guarded by the stream
}

func newStream(id sdk.Stream) *stream { return &stream{id: id, changed: make(chan struct{})} }

// set changes the stream.
func (s *stream) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait waits until ok, which is called with the stream locked.
func (s *stream) wait(ctx context.Context, ok func() bool) error {
	for {
		s.mu.Lock()
		done, changed := ok(), s.changed
		s.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// current waits for a run.
func (s *stream) current(ctx context.Context) (r *run, err error) {
	err = s.wait(ctx, func() bool { r = s.run; return r != nil })
	return r, err
}

// begin opens a run, after the one before has ended. life bounds it.
func (s *stream) begin(ctx, life context.Context, st sdk.Start) error {
	s.mu.Lock()
	known, old := s.assigned && st.Stream == s.id, s.run
	s.mu.Unlock()
	if !known {
		return sdk.Errorf(sdk.KindFenced, "start "+st.Stream.String(), "the stream is not assigned")
	}
	if err := s.finish(ctx, old); err != nil {
		return err
	}
	r := &run{id: st.Run, next: st.Position, durable: st.Position, turn: make(chan struct{}, 1)}
	r.ctx, r.end = context.WithCancel(life)
	s.set(func() { s.run = r })
	return nil
}

// finish ends a run and waits until nothing of it is on its way.
func (s *stream) finish(ctx context.Context, r *run) error {
	if r == nil {
		return nil
	}
	s.set(func() {
		if s.run == r {
			s.run = nil
		}
	})
	r.end()
	select {
	case r.turn <- struct{}{}:
		<-r.turn
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// drop ends the run if it is one of those.
func (s *stream) drop(ctx context.Context, runs []uint64) error {
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	for _, id := range runs {
		if r != nil && r.id == id {
			return s.finish(ctx, r)
		}
	}
	return nil
}

// commit takes the news of what is durable.
func (s *stream) commit(m sdk.Mark) (err error) {
	s.set(func() {
		switch {
		case !s.assigned || m.Stream != s.id:
			err = sdk.Errorf(sdk.KindFenced, "commit "+m.Stream.String(), "the stream is not assigned")
		case s.run != nil && s.run.id == m.Run:
			s.run.durable = max(s.run.durable, m.Next)
		case s.run != nil:
			err = sdk.Errorf(sdk.KindFenced, "commit "+m.Stream.String(), "run %d is over", m.Run)
		}
	})
	return err
}
