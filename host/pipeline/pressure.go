package pipeline

import "time"

// This file tells recovery when the live path needs the machine (V1).

// pressureEvery is how often it is looked at how far the source has come.
const pressureEvery = 250 * time.Millisecond

// pressure compares what the source still has with how fast it is read. A full
// budget shows only a sink that is slow: where processors are scarce, everything
// is, and the source falls behind with the budget empty. Owned by the loop.
type pressure struct {
	at     time.Time
	tail   int64
	rate   float64 // positions a second, falling slowly
	behind bool    // by more than a second's reading
}

func (p *pressure) due(now time.Time) bool { return now.Sub(p.at) >= pressureEvery }

// see notes how far all streams were read together, and how many positions they
// have left. A source from which nothing comes leaves the machine to recovery,
// whatever it has left.
func (p *pressure) see(now time.Time, tail, lag int64) {
	rate := 0.0
	if !p.at.IsZero() {
		rate = float64(max(tail-p.tail, 0)) / now.Sub(p.at).Seconds()
	}
	p.rate = max(rate, p.rate/2)
	p.behind = p.rate >= 1 && float64(lag) > p.rate
	p.at, p.tail = now, tail
}

// press tells recovery whether to yield.
func (p *Pipeline) press() {
	if len(p.workers) == 0 {
		return
	}
	if now := time.Now(); p.pressure.due(now) {
		var tail, lag int64
		for _, st := range p.streams {
			if s, ok := p.gate.Run(st.run); ok {
				tail, lag = tail+s.Tail, lag+max(st.end-s.Tail, 0)
			}
		}
		p.pressure.see(now, tail, lag)
	}
	rate := int64(0)
	if p.pressure.behind || p.flow.tight() {
		rate = max(int64(p.pressure.rate), 1)
	}
	p.pressed.Store(rate)
}

// While it yields, each worker of recovery reads one position for so many that
// are read live: a row costs about as much to rebuild as to deliver.
const (
	yieldShare = 16
	leastYield = pressureEvery
	mostYield  = 2 * time.Second
)

// yieldFor is how long recovery leaves the machine to the live path before it
// sends so many rows. Any goroutine.
func (p *Pipeline) yieldFor(rows int) time.Duration {
	rate := p.pressed.Load()
	if rate == 0 {
		return 0
	}
	seconds := float64(rows) * yieldShare * float64(len(p.workers)) / float64(rate)
	return min(max(time.Duration(seconds*float64(time.Second)), leastYield), mostYield)
}
