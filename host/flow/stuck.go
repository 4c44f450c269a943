package flow

import "time"

// Level is how sure the detector is that nothing will ever move again (F3).
type Level uint8

const (
	// Moving: nothing is suspected.
	Moving Level = iota
	// Suspected: say so in the log.
	Suspected
	// Unhealthy: the orchestrator should replace the process.
	Unhealthy
	// Hopeless: the process ends itself.
	Hopeless
)

var levelNames = [...]string{"moving", "suspected", "unhealthy", "hopeless"}

func (l Level) String() string { return levelNames[l] }

// StuckConfig has the detector's thresholds. They assume that a sink answers
// within minutes; raise them for one that takes longer.
type StuckConfig struct {
	// Memory at or above this, with less than Empty waiting, and no progress.
	Memory, Empty float64
	// Warn, Unhealthy and Exit are how long that must last for each level;
	// ClearAfter is how long progress must, before the suspicion is dropped.
	Warn, Unhealthy, Exit, ClearAfter time.Duration
}

// DefaultStuck has the detector's defaults.
var DefaultStuck = StuckConfig{
	Memory: .80, Empty: .05,
	Warn: 5 * time.Minute, Unhealthy: 10 * time.Minute, Exit: 20 * time.Minute, ClearAfter: 30 * time.Second,
}

// Signs are what the detector looks at.
type Signs struct {
	Memory float64
	// Fill is the part of the budget that waits for the gating sink.
	Fill float64
	// Progress: something became durable since the last look.
	Progress bool
	// Work: there is something to do: records are in flight, or the source is
	// behind its end. A pipeline that has nothing to do is not stuck.
	Work bool
}

// Stuck is the detector. It is apart from Pressure: a saturated sink has full
// channels, a slow one makes progress, and neither is stuck. Not safe for
// concurrent use.
type Stuck struct {
	cfg     StuckConfig
	level   Level
	stalled time.Duration // how long it has stood still, in all
	last    time.Time
	still   bool      // the last look saw a standstill
	moving  time.Time // since when there is steady progress; zero: there is none
	moved   time.Time // the newest progress
}

// NewStuck returns a detector that suspects nothing.
func NewStuck(cfg StuckConfig) *Stuck { return &Stuck{cfg: cfg} }

// maxGap is the most that passes between two looks of a host that runs. After a
// longer time the host itself stood still, as a container that was frozen does:
// that nothing became durable meanwhile is no sign.
const maxGap = 10 * time.Second

// Observe looks at the signs and returns the level. Call it every second or
// so. The time between two looks counts as standstill only if both saw one, and
// no more than maxGap of it.
func (s *Stuck) Observe(now time.Time, g Signs) Level {
	still := !g.Progress && g.Work && g.Memory >= s.cfg.Memory && g.Fill < s.cfg.Empty
	if still && s.still {
		s.stalled += min(now.Sub(s.last), maxGap)
	}
	s.last, s.still = now, still
	s.noteProgress(now, g.Progress)
	switch {
	case s.level == Moving && !still:
		s.stalled = 0
	case s.level != Moving && s.steady(now):
		s.level, s.stalled = Moving, 0
	default:
		s.level = max(s.level, s.reached())
	}
	return s.level
}

// noteProgress: progress that pauses for a third of ClearAfter is not steady.
func (s *Stuck) noteProgress(now time.Time, progress bool) {
	if now.Sub(s.moved) > s.cfg.ClearAfter/3 {
		s.moving = time.Time{}
	}
	if !progress {
		return
	}
	s.moved = now
	if s.moving.IsZero() {
		s.moving = now
	}
}

func (s *Stuck) steady(now time.Time) bool {
	return !s.moving.IsZero() && now.Sub(s.moving) >= s.cfg.ClearAfter
}

func (s *Stuck) reached() Level {
	switch {
	case s.stalled >= s.cfg.Exit:
		return Hopeless
	case s.stalled >= s.cfg.Unhealthy:
		return Unhealthy
	case s.stalled >= s.cfg.Warn:
		return Suspected
	}
	return Moving
}

// Level is the level of the last look, Stalled how long the standstill that is
// suspected has lasted.
func (s *Stuck) Level() Level           { return s.level }
func (s *Stuck) Stalled() time.Duration { return s.stalled }
