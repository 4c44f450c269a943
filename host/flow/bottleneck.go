package flow

import (
	"math"
	"time"
)

// Bottleneck tells that the sink is what everything waits for: the budget is
// used up again and again while memory is not the matter (F8). It judges a mean
// over some seconds, because a sink that confirms whole files fills and empties
// the budget all the time. Not safe for concurrent use.
type Bottleneck struct {
	mean float64
	last time.Time
	is   bool
}

const (
	bottleneckOver = 10 * time.Second // about what the mean covers
	bottleneckOn   = .75
	bottleneckOff  = .50
)

// Observe takes the saturation and whether memory is low, and reports whether
// the answer has changed.
func (b *Bottleneck) Observe(now time.Time, saturation float64, memoryLow bool) bool {
	if !b.last.IsZero() {
		keep := math.Exp(-float64(now.Sub(b.last)) / float64(bottleneckOver))
		b.mean = b.mean*keep + min(saturation, 1)*(1-keep)
	}
	b.last = now
	before := b.is
	switch {
	case !memoryLow || b.mean < bottleneckOff:
		b.is = false
	case b.mean > bottleneckOn:
		b.is = true
	}
	return b.is != before
}

// Is reports whether the sink is the bottleneck; Mean is the mean saturation.
func (b *Bottleneck) Is() bool      { return b.is }
func (b *Bottleneck) Mean() float64 { return b.mean }
