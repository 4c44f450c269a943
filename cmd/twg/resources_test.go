package main

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestResourcesAreLimitedUnlessTheEnvironmentSaysOtherwise(t *testing.T) {
	gc, procs := debug.SetGCPercent(77), runtime.GOMAXPROCS(6)
	defer debug.SetGCPercent(gc)
	defer runtime.GOMAXPROCS(procs)
	for _, c := range []struct {
		gogc, maxprocs string
		gc, procs      int
	}{
		{"200", "6", 77, 6},
		{"", "6", gcPercent, 6},
		{"200", "", 77, 3},
		{"", "", gcPercent, 3},
	} {
		debug.SetGCPercent(77)
		runtime.GOMAXPROCS(6)
		t.Setenv("GOGC", c.gogc)
		t.Setenv("GOMAXPROCS", c.maxprocs)
		limitResources()
		if got := debug.SetGCPercent(77); got != c.gc {
			t.Errorf("GOGC=%q: %d, want %d", c.gogc, got, c.gc)
		}
		if got := runtime.GOMAXPROCS(0); got != c.procs {
			t.Errorf("GOMAXPROCS=%q: %d, want %d", c.maxprocs, got, c.procs)
		}
	}
}
