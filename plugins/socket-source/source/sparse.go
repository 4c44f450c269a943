package source

import (
	"sync"
	"time"
)

// sparse lets one message of a kind through in ten seconds: peers must not be
// able to fill the log.
type sparse struct {
	mu   sync.Mutex
	last map[string]*saidAt
}

type saidAt struct {
	at      time.Time
	leftOut int
}

const sparsePause = 10 * time.Second

// now reports whether to log, and how many of the kind were left out before.
func (s *sparse) now(kind string, at time.Time) (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]*saidAt{}
	}
	said := s.last[kind]
	if said == nil {
		s.last[kind] = &saidAt{at: at}
		return 0, true
	}
	if at.Sub(said.at) < sparsePause {
		said.leftOut++
		return 0, false
	}
	leftOut, said.leftOut, said.at = said.leftOut, 0, at
	return leftOut, true
}

// warn logs what peers may cause, sparsely.
func (r *reader) warn(msg string, args ...any) {
	leftOut, ok := r.sparse.now(msg, time.Now())
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	if ok {
		r.log.Warn(msg, args...)
	}
}
