package flow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The levels at their boundaries, and what does not count as silence.
func TestHangLevels(t *testing.T) {
	cfg := HangConfig{Warn: 15 * time.Second, Unhealthy: time.Minute, Exit: 5 * time.Minute}
	for name, c := range map[string]struct {
		looks int           // a second apart, with no sign of life
		leave time.Duration // that it has
		want  Level
	}{
		"just before the warning": {14, 0, Moving},
		"the warning":             {15, 0, Suspected},
		"just before unhealthy":   {59, 0, Suspected},
		"unhealthy":               {60, 0, Unhealthy},
		"just before the end":     {299, 0, Unhealthy},
		"the end":                 {300, 0, Hopeless},
		"closing, and in time":    {314, 5 * time.Minute, Moving},
		"closing, and too long":   {600, 5 * time.Minute, Hopeless},
	} {
		t.Run(name, func(t *testing.T) {
			h, now := NewHang(cfg), time.Unix(1_800_000_000, 0)
			h.Look(now, 7, c.leave)
			for range c.looks {
				now = now.Add(HangLook)
				h.Look(now, 7, c.leave)
			}
			if h.Level() != c.want || h.Silent() != time.Duration(c.looks)*time.Second {
				t.Errorf("%s after %s, want %s", h.Level(), h.Silent(), c.want)
			}
			if h.Look(now.Add(HangLook), 8, c.leave) != Moving || h.Silent() != 0 {
				t.Error("a sign of life does not end it")
			}
		})
	}
}

// A jump of the clock, a machine that slept, a process that was stopped: no time
// for which the watcher itself did not run counts, in whichever direction.
func TestHangJumps(t *testing.T) {
	for name, jump := range map[string]time.Duration{"stopped for an hour": time.Hour, "asleep for a month": 31 * 24 * time.Hour, "set back": -time.Hour, "late": hangLate + 1} {
		t.Run(name, func(t *testing.T) {
			h, now := NewHang(DefaultHang), time.Unix(1_800_000_000, 0)
			h.Look(now, 1, 0)
			for range 299 {
				now = now.Add(HangLook)
				h.Look(now, 1, 0)
			}
			now = now.Add(jump)
			if got := h.Look(now, 1, 0); got != Unhealthy {
				t.Fatalf("%s right after it", got)
			}
			if got := h.Look(now.Add(HangLook), 2, 0); got != Moving {
				t.Fatalf("%s after the first sign of life", got)
			}
		})
	}
}

// Against a model that remembers every look.
func TestHangModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, now, beats := NewHang(DefaultHang), time.Unix(1_800_000_000, 0), uint64(0)
		var silence []time.Duration // since the last sign of life
		h.Look(now, beats, 0)
		for range rapid.IntRange(1, 400).Draw(t, "looks") {
			passed := time.Duration(rapid.SampledFrom([]int64{1000, 1000, 1100, 2900, 3100, 60_000, -5000}).Draw(t, "passed")) * time.Millisecond
			now = now.Add(passed)
			if rapid.IntRange(0, 200).Draw(t, "beat") == 0 {
				beats++
				silence = nil
			} else if passed > 0 && passed <= hangLate {
				silence = append(silence, passed)
			}
			var all time.Duration
			for _, d := range silence {
				all += d
			}
			want := Moving
			for level, at := range map[Level]time.Duration{Suspected: DefaultHang.Warn, Unhealthy: DefaultHang.Unhealthy, Hopeless: DefaultHang.Exit} {
				if all >= at {
					want = max(want, level)
				}
			}
			if got := h.Look(now, beats, 0); got != want || h.Silent() != all {
				t.Fatalf("%s after %s, want %s after %s", got, h.Silent(), want, all)
			}
		}
	})
}
