package recovery

import (
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Backlog is what is left to rebuild of one sink, or of several together. An
// autoscaler may go by it (V4): hosts that recover are needed while Unclaimed
// or Positions is not 0.
type Backlog struct {
	// Windows are planned and not complete, those that cannot be rebuilt left
	// out. Unclaimed are those of them on which nobody works.
	Windows   int
	Unclaimed int
	// Positions are missing below the live floors, planned or not. Live are
	// missing above them: on their way live, or of streams that no host has.
	Positions int64
	Live      int64
	// Unrecoverable are positions that raw no longer has.
	Unrecoverable int64
	// Rebuilt and SetAside (refused for good) are positions, by this worker.
	Rebuilt  int64
	SetAside int64
	// At is when it was looked at, and Err why the last look or the last work
	// failed. The zero time: never, as in a host that does not recover.
	At  time.Time
	Err error
}

// Lag is how far a sink is behind raw, in positions.
func (b Backlog) Lag() int64 { return b.Positions + b.Live }

// SinkBacklog is a sink's backlog. Lane is the sink's name.
type SinkBacklog struct {
	Lane string
	Backlog
}

// Total is the backlog of several sinks: its Backlog is the sum, without At and
// Err, and its Lag the sum of the lags.
type Total struct {
	Backlog
	// Furthest is the sink that is furthest behind raw, and FurthestLag by how
	// many positions. Empty: none is behind.
	Furthest    string
	FurthestLag int64
	Sinks       []SinkBacklog
}

// Sum adds up what sinks have left. Of two that are equally far behind, the
// first is the furthest.
func Sum(sinks []SinkBacklog) Total {
	t := Total{Sinks: sinks}
	for _, s := range sinks {
		t.add(s.Backlog)
		if lag := s.Lag(); lag > t.FurthestLag {
			t.Furthest, t.FurthestLag = s.Lane, lag
		}
	}
	return t
}

func (b *Backlog) add(o Backlog) {
	b.Windows += o.Windows
	b.Unclaimed += o.Unclaimed
	b.Positions += o.Positions
	b.Live += o.Live
	b.Unrecoverable += o.Unrecoverable
	b.Rebuilt += o.Rebuilt
	b.SetAside += o.SetAside
}

// Add is what is left to rebuild of all streams of a lane.
func Add(known []Known) Backlog {
	var b Backlog
	for i := range known {
		b.add(known[i].Backlog())
	}
	return b
}

// Backlog is what is left to rebuild of the stream.
func (k *Known) Backlog() Backlog {
	b := Backlog{Positions: positions(k.Missing(Options{})), Unrecoverable: positions(k.Unrecoverable(Options{}))}
	above := coverage.Interval{From: k.Floors.Live, Next: k.Raw.FirstHole()}
	b.Live = positions(k.without(k.Raw.HeldWithin(above), false))
	b.count(k.Windows)
	return b
}

// count adds windows that are to be worked on.
func (b *Backlog) count(windows []sdk.RecoveryWindow) {
	for _, w := range windows {
		if w.State == sdk.WindowUnrecoverable {
			continue
		}
		b.Windows++
		if w.State == sdk.WindowOpen || w.Lease == 0 { // without a clock nobody knows that a lease is over
			b.Unclaimed++
		}
	}
}
