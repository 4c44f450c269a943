package flow

import "time"

// State is how hard the gating path is pressed (F1).
type State uint8

const (
	Normal State = iota
	Degraded
	Critical
	Recovery
	states
)

var stateNames = [states]string{"normal", "degraded", "critical", "recovery"}

func (s State) String() string { return stateNames[s] }

// States are all states, for a state set.
func States() []State { return []State{Normal, Degraded, Critical, Recovery} }

// fractions of the batch size, and of the budget, in each state.
var fractions = [states]float64{Normal: 1, Degraded: .5, Critical: .25, Recovery: .75}

// Reading is what the machine looks at. All of it is the gating path's alone
// (F1a): no other lane's buffer or failure ever stands here.
type Reading struct {
	// Memory is what host and plugins have resident, as a part of what they may
	// have; 0: not known.
	Memory float64
	// Fill is the part of the budget that waits for the gating sink to take it.
	// It should be what stood there all the time since the last reading, not what
	// came and went.
	Fill float64
	// Held is the part of the budget that is held, at the sink too: the working
	// set.
	Held float64
	// Failures are write failures in a row.
	Failures int
}

// PressureConfig has the thresholds. Ratios are between 0 and 1.
type PressureConfig struct {
	MemoryDegraded, MemoryCritical float64
	FillDegraded, FillCritical     float64
	// Margin is how far below a threshold a reading must fall before it counts
	// as below.
	Margin float64
	// Empty: with less than this held and waiting, memory is the allocator's
	// garbage and no pressure (F2).
	Empty float64
	// CalmDown is how long a critical condition must be gone before Critical
	// ends, ClearFor how long all conditions must be before Recovery begins, and
	// RecoverFor how long that lasts.
	CalmDown, ClearFor, RecoverFor time.Duration
}

// DefaultPressure has the thresholds of F1 and F2.
var DefaultPressure = PressureConfig{
	MemoryDegraded: .80, MemoryCritical: .90, FillDegraded: .70, FillCritical: .90, Margin: .05, Empty: .05,
	CalmDown: 5 * time.Second, ClearFor: 30 * time.Second, RecoverFor: time.Minute,
}

// Severity is what a reading says by itself.
type Severity uint8

const (
	Clear Severity = iota
	Pressed
	Dire
	severities
)

// rule: in a state, once the severity has been within bounds for a while, the
// next state follows. The first rule that holds counts.
type rule struct {
	from        State
	least, most Severity
	hold        func(*PressureConfig) time.Duration // nil: at once
	to          State
}

// The whole machine. Recovery is a state and not a step: to go straight back to
// Normal fills everything up again, and that is a sawtooth.
var rules = []rule{
	{Normal, Dire, Dire, nil, Critical},
	{Normal, Pressed, Pressed, nil, Degraded},
	{Degraded, Dire, Dire, nil, Critical},
	{Degraded, Clear, Clear, func(c *PressureConfig) time.Duration { return c.ClearFor }, Recovery},
	{Critical, Clear, Pressed, func(c *PressureConfig) time.Duration { return c.CalmDown }, Degraded},
	{Recovery, Dire, Dire, nil, Critical},
	{Recovery, Pressed, Pressed, nil, Degraded},
	{Recovery, Clear, Clear, func(c *PressureConfig) time.Duration { return c.RecoverFor }, Normal},
}

// Pressure is the backpressure machine. Not safe for concurrent use.
type Pressure struct {
	cfg     PressureConfig
	state   State
	seen    Severity
	entered time.Time             // when state began
	since   [severities]time.Time // since when the severity was at most that
	changes int64
	stale   bool
}

// NewPressure returns a machine in the state Normal.
func NewPressure(cfg PressureConfig) *Pressure { return &Pressure{cfg: cfg} }

// Observe takes a reading and reports whether the state has changed.
func (p *Pressure) Observe(now time.Time, r Reading) bool {
	if p.entered.IsZero() {
		p.entered = now
	}
	p.see(now, r)
	for i := range rules {
		if ru := &rules[i]; p.holds(now, ru) {
			p.state, p.entered = ru.to, now
			p.changes++
			return true
		}
	}
	return false
}

// see judges a reading. What has begun ends only a margin lower. Degraded leaves
// the channel half of the budget: it is as full as before with half as much in
// it. Otherwise a sink that is always slower than the source would end the state
// by the state's own doing, and begin it again, for as long as it catches up.
func (p *Pressure) see(now time.Time, r Reading) {
	var critical, degraded float64
	full := p.cfg.FillDegraded
	switch p.state {
	case Critical:
		critical, degraded = p.cfg.Margin, p.cfg.Margin
	case Degraded:
		degraded = p.cfg.Margin
		full *= p.Fraction()
	}
	p.stale = r.Held < p.cfg.Empty && r.Fill < p.cfg.Empty && r.Memory >= p.cfg.MemoryDegraded
	if p.stale {
		r.Memory = 0
	}
	p.seen = Clear
	switch {
	case r.Memory > p.cfg.MemoryCritical-critical || r.Fill > p.cfg.FillCritical-critical:
		p.seen = Dire
	case r.Memory >= p.cfg.MemoryDegraded-degraded || r.Fill >= full-degraded || r.Failures > 0:
		p.seen = Pressed
	}
	for s := range p.since {
		switch {
		case Severity(s) < p.seen:
			p.since[s] = time.Time{}
		case p.since[s].IsZero():
			p.since[s] = now
		}
	}
}

// holds reports whether a rule applies. The time that counts is how long the
// severity has been low enough; of Recovery, how long that lasts.
func (p *Pressure) holds(now time.Time, r *rule) bool {
	if r.from != p.state || p.seen < r.least || p.seen > r.most {
		return false
	}
	if r.hold == nil {
		return true
	}
	since := p.since[r.most]
	if r.from == Recovery {
		since = p.entered
	}
	return now.Sub(since) >= r.hold(&p.cfg)
}

// State is the state, Fraction the part of the batch size and of the budget
// that it leaves.
func (p *Pressure) State() State      { return p.state }
func (p *Pressure) Fraction() float64 { return fractions[p.state] }

// Paused reports whether the source must read nothing. It is paused while what
// made the state critical lasts; then it may read a little, so that the sink
// does not run dry before the state ends.
func (p *Pressure) Paused() bool { return p.state == Critical && p.seen == Dire }

// Stale reports whether the last reading's memory was high and counted for
// nothing, because hardly anything is held (F2).
func (p *Pressure) Stale() bool { return p.stale }

// Changes counts changes of state.
func (p *Pressure) Changes() int64 { return p.changes }
