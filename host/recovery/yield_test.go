package recovery

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Recovery waits as long as it is told to, and no longer than the live path
// needs the machine or the worker may go on.
func TestYield(t *testing.T) {
	for _, c := range []struct {
		name    string
		busyFor time.Duration
		stopAt  time.Duration
		want    time.Duration
	}{
		{"not busy", 0, time.Hour, 0},
		{"busy without end", time.Hour, time.Hour, time.Second},
		{"busy for a while", 300 * time.Millisecond, time.Hour, 300 * time.Millisecond},
		{"stopped", time.Hour, 400 * time.Millisecond, 400 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, stop := time.Now(), make(chan struct{})
				w := New(Config{Lane: "copy", Stop: stop, Logger: slog.New(slog.DiscardHandler), Yield: func(int) time.Duration {
					if time.Since(began) < c.busyFor {
						return time.Second
					}
					return 0
				}})
				timer := time.AfterFunc(c.stopAt, func() { close(stop) })
				defer timer.Stop()
				w.yield(t.Context(), 100)
				if got := time.Since(began); got < c.want || got > c.want+2*yieldStep {
					t.Errorf("yielded for %s, want %s", got, c.want)
				}
			})
		})
	}
}
