package plugins

import (
	"math/rand/v2"
	"time"
)

// Backoff is how a supervisor waits before it starts a process anew. Zero
// fields: the product's.
type Backoff struct {
	// First is the first delay, doubled each time up to Max.
	First, Max time.Duration
	// Healthy is how long a process must have lived for the delay to begin
	// with First again.
	Healthy time.Duration
}

func (b Backoff) orDefault() Backoff {
	if b.First <= 0 {
		b.First = 100 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 15 * time.Second
	}
	if b.Healthy <= 0 {
		b.Healthy = 5 * time.Second
	}
	return b
}

// delays is one supervisor's position in its Backoff.
type delays struct {
	Backoff
	last time.Duration
}

// next is how long to wait after a process that lived for lived. Half of it is
// random, so that plugins that died of one cause do not come back at once.
func (d *delays) next(lived time.Duration) time.Duration {
	switch {
	case d.last == 0 || lived >= d.Healthy:
		d.last = d.First
	default:
		d.last = min(2*d.last, d.Max)
	}
	return d.last/2 + rand.N(d.last/2+1)
}
