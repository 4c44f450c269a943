package pipeline

import (
	"time"

	"github.com/twg-io/twg/host/flow"
)

// Flow is how a pipeline's flow control stands. Sizes are in bytes, ratios
// between 0 and 1, which an overdrawn budget passes.
type Flow struct {
	// Budget is memory_budget, Limit what of it is in force: less while warming
	// up and under pressure. Used is charged for what is held, Granted the credit
	// that the source has not used. Saturation is Used as a part of Limit.
	Budget, Limit, Used, Granted int64
	Saturation                   float64
	// WarmingUp: only a fraction of the budget is in force yet. Expansion is what
	// a byte of credit is expected to take.
	WarmingUp bool
	Expansion float64
	// State is the backpressure machine's, Fraction the batch size that it
	// leaves, Paused whether the source reads nothing; Changes counts changes of
	// state in this run.
	State    flow.State
	Fraction float64
	Paused   bool
	Changes  int64
	// Resident is the memory of host and plugins, MemoryLimit what they may have
	// (0: not known), Memory the ratio. MemoryIgnored: it is high, and counts for
	// nothing since hardly anything is held.
	Resident, MemoryLimit int64
	Memory                float64
	MemoryIgnored         bool
	// Waiting is the part of the budget that waited for the sink all the time
	// between the last two looks. WriteFailures are the sink's, in a row, lost
	// sessions among them; WriteError is the newest, WriteFailing the time of the
	// first.
	Waiting       float64
	WriteFailures int
	WriteError    error
	WriteFailing  time.Time
	// Stuck is how sure the detector is, Stalled how long the standstill that it
	// suspects has lasted.
	Stuck   flow.Level
	Stalled time.Duration
	// SinkIsBottleneck: the budget is used up and memory is not the matter.
	SinkIsBottleneck bool
}

func (c *control) status() Flow {
	a := c.adm
	return Flow{
		Budget: a.Budget(), Limit: a.Limit(), Used: a.Used(), Granted: max(a.Credit(), 0), Saturation: a.Saturation(),
		WarmingUp: a.WarmingUp(), Expansion: a.Ratio(),
		State: c.pressure.State(), Fraction: c.pressure.Fraction(), Paused: c.pressure.Paused(), Changes: c.pressure.Changes(),
		Resident: c.resident, MemoryLimit: c.limit, Memory: c.memory(), MemoryIgnored: c.pressure.Stale(),
		Waiting: float64(max(c.fill, 0)) / float64(a.Budget()), WriteFailures: c.failures, WriteError: c.failing, WriteFailing: c.failingSince,
		Stuck: c.stuck.Level(), Stalled: c.stuck.Stalled(), SinkIsBottleneck: c.neck.Is(),
	}
}
