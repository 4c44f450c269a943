package wire

import "sync"

// sender lets several goroutines send on one stream. A send blocks only while
// the other side does not read, which it always does while it lives.
type sender struct {
	mu  sync.Mutex
	msg func(any) error
}

func (s *sender) send(m any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.msg(m)
}
