package source

import (
	"context"
	"sync"
)

// speaker is the one peer that speaks for a stream. A new one replaces it: a
// connection that has died without a word must not keep its peer away.
type speaker struct {
	mu     sync.Mutex
	cancel context.CancelFunc
	gone   chan struct{}
}

// replace ends the connection of the one before, waits for that, and takes its
// place until leave is called. cancel ends the caller's own connection.
func (s *speaker) replace(cancel context.CancelFunc) (leave func()) {
	mine := make(chan struct{})
	s.mu.Lock()
	before, gone := s.cancel, s.gone
	s.cancel, s.gone = cancel, mine
	s.mu.Unlock()
	if before != nil {
		before()
		<-gone // it gives up whatever it waits for
	}
	return func() { close(mine) }
}
