package wire

import (
	"context"
	"sync"

	"github.com/twg-io/twg/internal/twgpb"
)

// calls matches the source's answers with the host's requests.
type calls struct {
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan *twgpb.SourceEvent
}

func newCalls() *calls { return &calls{waiting: map[uint64]chan *twgpb.SourceEvent{}} }

func (c *calls) begin() (uint64, chan *twgpb.SourceEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	ch := make(chan *twgpb.SourceEvent, 1)
	c.waiting[c.last] = ch
	return c.last, ch
}

func (c *calls) end(request uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, request)
}

// answer hands m to the request that it answers; false: it is no answer. One
// that comes late, after its caller gave up, is dropped.
func (c *calls) answer(m *twgpb.SourceEvent) (bool, error) {
	request, ok := requestOf(m)
	if !ok {
		return false, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if request == 0 || request > c.last {
		return true, violation("an answer to request %d, which was never made", request)
	}
	if ch := c.waiting[request]; ch != nil {
		delete(c.waiting, request)
		ch <- m
	}
	return true, nil
}

func requestOf(m *twgpb.SourceEvent) (uint64, bool) {
	switch e := m.Msg.(type) {
	case *twgpb.SourceEvent_Committed:
		return e.Committed.GetRequest(), true
	case *twgpb.SourceEvent_Resolved:
		return e.Resolved.GetRequest(), true
	case *twgpb.SourceEvent_Started:
		return e.Started.GetRequest(), true
	case *twgpb.SourceEvent_Dropped:
		return e.Dropped.GetRequest(), true
	}
	return 0, false
}

// call sends what msg makes of a request's number and waits for the answer.
func (s *sourceSession) call(ctx context.Context, msg func(request uint64) *twgpb.SourceCommand) (*twgpb.SourceEvent, error) {
	request, ch := s.calls.begin()
	defer s.calls.end(request)
	if err := s.send(msg(request)); err != nil {
		return nil, err
	}
	select {
	case m := <-ch:
		return m, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, s.cause()
	}
}
