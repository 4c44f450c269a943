package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

const (
	// maxDump bounds the goroutine dump, lastWords the time for all that the
	// process still does: each of it may be what hangs.
	maxDump   = 8 << 20
	lastWords = 5 * time.Second
)

// endHung ends the process because a pipeline's loop hangs. Nothing is waited
// for: what was not committed is read again. The dump is taken before the
// plugins are killed, which wakes who waits for them.
func endHung(stderr io.Writer, why error) {
	dump := goroutines()
	within(lastWords, killAll)
	within(lastWords, func() {
		fmt.Fprintf(stderr, "twg: %v; this is a bug of twg: please report it with what follows\n\n%s\n", why, dump)
	})
	os.Exit(exitStuck)
}

// goroutines is where each goroutine of the process stands.
func goroutines() []byte {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= maxDump {
			return buf[:n]
		}
	}
}

// within waits for f, but not for longer than d.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(d):
	}
}
