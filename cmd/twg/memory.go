package main

import (
	"os"
	"runtime/debug"
)

// gcPercent is how far the heap may grow over what is live before garbage is
// collected. Nearly all that is live are frames, whose memory is used again
// and holds no pointers: a collection costs about nothing, and comes rarely.
// Go's default of 100 would let the host take twice the memory_budget before
// the first one.
const gcPercent = 25

// boundHeap keeps the host's memory near its budget. GOGC, if it is set, has
// the last word.
func boundHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
