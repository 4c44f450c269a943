package source

import (
	"sync"
	"time"
)

// sparse thins out what is said again and again while something is down.
type sparse struct {
	mu   sync.Mutex
	said map[string]*saying
}

type saying struct {
	at    time.Time
	since int // times that it was not said since
}

const (
	sayEvery   = 10 * time.Second
	maxSayings = 10_000
)

// now reports whether what key stands for should be said now, and how often it
// was left out since the last time.
func (s *sparse) now(key string) (leftOut int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.said[key]; x != nil {
		if time.Since(x.at) < sayEvery {
			x.since++
			return 0, false
		}
		leftOut = x.since
	}
	if s.said == nil || len(s.said) >= maxSayings {
		s.said = make(map[string]*saying)
	}
	s.said[key] = &saying{at: time.Now()}
	return leftOut, true
}
