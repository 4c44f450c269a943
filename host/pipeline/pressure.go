package pipeline

import "time"

// This file tells recovery when the live path needs the machine (V1).

// pressureEvery is how often it is looked at how far the live path has come.
const pressureEvery = 250 * time.Millisecond

// pressure compares what the live path has left with how fast it gets on. A full
// budget shows only a sink that is slow: where processors are scarce, everything
// is, and the source falls behind with the budget half empty. Owned by the loop.
type pressure struct {
	at     time.Time
	rate   float64 // positions a second, over about the last second
	behind bool    // by more than slack at that rate
}

// slack is how much work may be left without anybody being behind: about what is
// on its way at any time.
const slack = 250 * time.Millisecond

func (p *pressure) due(now time.Time) bool { return now.Sub(p.at) >= pressureEvery }

// see notes by how many positions all streams have moved since it was last
// called, and how many are left. A live path that does not move, because the
// source or the sink is away, leaves the machine to recovery, whatever it has
// left.
func (p *pressure) see(now time.Time, moved, left int64) {
	if !p.at.IsZero() {
		p.rate += (float64(moved)/now.Sub(p.at).Seconds() - p.rate) / 4
	}
	p.behind = p.rate >= 1 && float64(left) > p.rate*slack.Seconds()
	p.at = now
}

// press tells recovery whether to yield.
func (p *Pipeline) press() {
	if len(p.workers) == 0 {
		return
	}
	if now := time.Now(); p.pressure.due(now) {
		var moved, left int64
		for _, st := range p.streams {
			m, l := p.progress(st)
			moved, left = moved+m, left+l
		}
		p.pressure.see(now, moved, left)
	}
	rate := int64(0)
	if p.pressure.behind || p.flow.tight() {
		rate = max(int64(p.pressure.rate), 1)
	}
	p.pressed.Store(rate)
}

// progress is how far a stream has come since it was last asked for, and how far
// it has to go. A sink that answers when it closes a file has nothing left to do
// for what it was sent, but to wait.
func (p *Pipeline) progress(st *stream) (moved, left int64) {
	s, ok := p.gate.Run(st.run)
	if !ok {
		return 0, 0
	}
	at := s.Frontier
	if p.cfg.SinkCaps.HoldsUntilClose {
		at = s.Tail
	}
	if st.sawRun == st.run {
		moved = max(at-st.sawAt, 0)
	}
	st.sawRun, st.sawAt = st.run, at
	return moved, max(st.end-at, 0)
}

// While it yields, each worker of recovery reads one position for so many that
// are read live: a row costs about as much to rebuild as to deliver.
const (
	yieldShare = 32
	leastYield = pressureEvery
	mostYield  = 5 * time.Second
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
