package flow

import "time"

// HangConfig is how long a loop may give no sign of life before each level.
type HangConfig struct {
	Warn, Unhealthy, Exit time.Duration
}

// DefaultHang has the defaults. A turn of a loop takes microseconds, and waits
// for nobody: even a quarter of a minute is a bug.
var DefaultHang = HangConfig{Warn: 15 * time.Second, Unhealthy: time.Minute, Exit: 5 * time.Minute}

// HangLook is how often to look. A look that comes later than hangLate finds
// that its own process has not run: it was stopped, the machine slept or had no
// time. Then the loop had none either, and the time does not count.
const (
	HangLook = time.Second
	hangLate = 3 * HangLook
)

// Hang tells that a loop moves no more, from outside of it. Stuck is part of
// the loop, and falls silent with it. Not safe for concurrent use.
type Hang struct {
	cfg    HangConfig
	level  Level
	silent time.Duration
	last   time.Time
	beats  uint64
}

// NewHang returns a detector that suspects nothing.
func NewHang(cfg HangConfig) *Hang { return &Hang{cfg: cfg} }

// Look takes how many signs of life there were, and returns the level. Call it
// every HangLook. leave is for how much longer than usual the loop may be
// silent, because it is closing what is open. One sign of life ends all
// suspicion.
func (h *Hang) Look(now time.Time, beats uint64, leave time.Duration) Level {
	passed := now.Sub(h.last)
	if h.last.IsZero() || passed < 0 || passed > hangLate {
		passed = 0
	}
	h.last = now
	if beats != h.beats {
		h.beats, h.silent, h.level = beats, 0, Moving
		return Moving
	}
	h.silent += passed
	h.level = max(h.level, h.reached(h.silent-leave))
	return h.level
}

func (h *Hang) reached(silent time.Duration) Level {
	switch {
	case silent >= h.cfg.Exit:
		return Hopeless
	case silent >= h.cfg.Unhealthy:
		return Unhealthy
	case silent >= h.cfg.Warn:
		return Suspected
	}
	return Moving
}

// Level is the level of the last look, Silent how long there was no sign of
// life then.
func (h *Hang) Level() Level          { return h.level }
func (h *Hang) Silent() time.Duration { return h.silent }
