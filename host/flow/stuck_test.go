package flow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	standstill = Signs{Memory: .85, Work: true}
	progress   = Signs{Memory: .85, Work: true, Progress: true}
)

// watch shows the detector the same signs each second, until end.
func watch(s *Stuck, from, end time.Duration, g Signs) Level {
	for t := from; t <= end; t += time.Second {
		s.Observe(at(t), g)
	}
	return s.Level()
}

func TestStuckEscalates(t *testing.T) {
	for _, c := range []struct {
		for_ time.Duration
		want Level
	}{
		{5*time.Minute - time.Second, Moving}, {5 * time.Minute, Suspected}, {10*time.Minute - time.Second, Suspected},
		{10 * time.Minute, Unhealthy}, {20*time.Minute - time.Second, Unhealthy}, {20 * time.Minute, Hopeless},
	} {
		if got := watch(NewStuck(DefaultStuck), 0, c.for_, standstill); got != c.want {
			t.Errorf("after %v: %s, want %s", c.for_, got, c.want)
		}
	}
}

// A saturated sink has full channels, a slow one makes progress, an idle
// pipeline has nothing to do: none is stuck, however long it lasts.
func TestWhatIsNotStuck(t *testing.T) {
	for name, g := range map[string]Signs{
		"saturated":           {Memory: .99, Fill: .05, Work: true},
		"sink down":           {Memory: .99, Fill: 1, Work: true},
		"slow":                progress,
		"idle":                {Memory: .99},
		"memory just below":   {Memory: .80 - 1e-9, Work: true},
		"memory is not known": {Work: true},
	} {
		if got := watch(NewStuck(DefaultStuck), 0, time.Hour, g); got != Moving {
			t.Errorf("%s: %s", name, got)
		}
	}
	s := NewStuck(DefaultStuck) // a receipt every 100 s
	for i := range 3600 {
		g := standstill
		g.Progress = i%100 == 0
		if got := s.Observe(at(time.Duration(i)*time.Second), g); got != Moving {
			t.Fatalf("a receipt every 100 s: %s after %d s", got, i)
		}
	}
}

// A host that was frozen for an hour, and finds all as it was, is not stuck for
// that hour.
func TestFrozenIsNotStuck(t *testing.T) {
	s := NewStuck(DefaultStuck)
	watch(s, 0, time.Minute, standstill)
	if got := watch(s, time.Hour, time.Hour+3*time.Minute, standstill); got != Moving || s.Stalled() != 4*time.Minute+maxGap {
		t.Errorf("%s, stalled for %s", got, s.Stalled())
	}
	if got := watch(s, time.Hour+3*time.Minute, time.Hour+4*time.Minute, standstill); got != Suspected {
		t.Errorf("%s, stalled for %s: it does not go on", got, s.Stalled())
	}
}

// It clears only after sustained progress: one receipt does not.
func TestStuckClears(t *testing.T) {
	s := NewStuck(DefaultStuck)
	watch(s, 0, 11*time.Minute, standstill)
	base := 11*time.Minute + time.Second
	if got := s.Observe(at(base), progress); got != Unhealthy {
		t.Fatalf("one receipt: %s", got)
	}
	if got := watch(s, base+time.Second, base+40*time.Second, Signs{Memory: .1}); got != Unhealthy {
		t.Errorf("no progress, only less memory: %s", got)
	}
	base += 41 * time.Second
	if got := watch(s, base, base+29*time.Second, progress); got != Unhealthy {
		t.Errorf("29 s of progress: %s", got)
	}
	if got := s.Observe(at(base+30*time.Second), progress); got != Moving {
		t.Errorf("30 s of progress: %s", got)
	}
	if got := watch(s, base+31*time.Second, base+2*time.Minute, standstill); got != Moving {
		t.Errorf("it suspects at once again: %s", got)
	}
}

// The level never falls but to Moving, and only after progress in each third of
// ClearAfter; it never rises before its time. The model counts seconds.
func TestStuckAgainstTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewStuck(DefaultStuck)
		var stalled, moving, quiet int
		level, still, second := Moving, false, 0
		for range rapid.IntRange(1, 12).Draw(t, "phases") {
			g := rapid.SampledFrom([]Signs{standstill, standstill, progress, {Memory: .9, Fill: .5, Work: true}, {Memory: .2, Work: true}}).Draw(t, "signs")
			for range rapid.IntRange(1, 800).Draw(t, "seconds") {
				now := !g.Progress && g.Memory >= .8 && g.Fill < .05
				if now && still {
					stalled++
				}
				still = now
				if quiet++; quiet > 10 {
					moving = 0
				} else if moving > 0 {
					moving++
				}
				if g.Progress {
					quiet, moving = 0, max(moving, 1)
				}
				switch {
				case level == Moving && !now:
					stalled = 0
				case level != Moving && moving > 30:
					level, stalled = Moving, 0
				case stalled >= 1200:
					level = Hopeless
				case stalled >= 600:
					level = max(level, Unhealthy)
				case stalled >= 300:
					level = max(level, Suspected)
				}
				if got := s.Observe(at(time.Duration(second)*time.Second), g); got != level {
					t.Fatalf("second %d: %s, the model says %s (stalled %d s, moving %d s)", second, got, level, stalled, moving)
				}
				second++
			}
		}
	})
}

// F8: a budget that is used up while memory is low is the sink's; a burst is
// not, and neither is a sink that confirms whole files as they fill.
func TestBottleneck(t *testing.T) {
	for _, c := range []struct {
		name       string
		saturation func(second int) float64
		low, want  bool
	}{
		{"full", func(int) float64 { return 1 }, true, true},
		{"overdrawn", func(int) float64 { return 9 }, true, true},
		{"full, memory high", func(int) float64 { return 1 }, false, false},
		{"half", func(int) float64 { return .5 }, true, false},
		{"files", func(s int) float64 { return float64(s%10) / 10 }, true, false},
		{"a burst now and then", func(s int) float64 { return float64(s % 5 / 4) }, true, false},
	} {
		var b Bottleneck
		for s := range 120 {
			b.Observe(at(time.Duration(s)*time.Second), c.saturation(s), c.low)
		}
		if b.Is() != c.want {
			t.Errorf("%s: %v, mean %.2f", c.name, b.Is(), b.Mean())
		}
	}
	var b Bottleneck
	for s := range 60 {
		b.Observe(at(time.Duration(s)*time.Second), 1, true)
	}
	if changed := b.Observe(at(61*time.Second), .6, true); changed || !b.Is() {
		t.Error("over after one look")
	}
	for s := range 60 {
		b.Observe(at(time.Duration(62+s)*time.Second), .3, true)
	}
	if b.Is() {
		t.Errorf("still the bottleneck, mean %.2f", b.Mean())
	}
}
