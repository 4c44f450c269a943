package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// gcPercent is how far the heap may grow over what is live before garbage is
// collected. Nearly all that is live are frames, whose memory is used again
// and holds no pointers: a collection costs about nothing, and comes rarely.
// Go's default of 100 would let the host take twice the memory_budget before
// the first one.
const gcPercent = 10

// limitResources keeps the host's memory near its budget, and leaves half of
// the cores to the plugins, which do most of the work: the host only passes
// bytes on, and with fewer threads to wake it spends a tenth less on that.
// GOGC and GOMAXPROCS, if they are set, have the last word.
func limitResources() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS((runtime.GOMAXPROCS(0) + 1) / 2)
	}
}
