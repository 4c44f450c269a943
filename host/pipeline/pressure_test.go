package pipeline

import (
	"testing"
	"time"

	"github.com/twg-io/twg/host/recovery"
)

// Recovery yields while the source has more than is read in a second, and not
// for one that gives nothing.
func TestPressure(t *testing.T) {
	type step struct {
		read, left int64 // in this half second; behind it
		behind     bool
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"nothing is known yet", []step{{0, 1_000_000, false}}},
		{"catching up", []step{{0, 900, false}, {100, 800, true}, {100, 700, true}}},
		{"caught up", []step{{0, 500, false}, {100, 400, true}, {200, 200, false}, {200, 0, false}}},
		{"steady", []step{{0, 0, false}, {1000, 50, false}, {1000, 900, false}, {1000, 0, false}}},
		{"falls behind", []step{{0, 0, false}, {1000, 50, false}, {500, 3000, true}}},
		{"a short stop", []step{{0, 900, false}, {100, 800, true}, {0, 800, true}, {100, 700, true}}},
		{"the source gives nothing", []step{{0, 900, false}, {2, 800, true}, {0, 800, true}, {0, 800, true}, {0, 800, false}}},
		{"streams are taken away", []step{{100, 900, false}, {-100, 0, false}}},
	} {
		var p pressure
		now, tail := time.Unix(1000, 0), int64(0)
		for i, s := range c.steps {
			now, tail = now.Add(time.Second/2), tail+s.read
			p.see(now, tail, s.left)
			if p.behind != s.behind {
				t.Errorf("%s, step %d: behind %t, want %t (rate %v)", c.name, i, p.behind, s.behind, p.rate)
			}
		}
	}
}

// The share of recovery follows the live path's rate, and never is nothing.
func TestYieldFollowsTheLiveRate(t *testing.T) {
	for _, c := range []struct {
		rate    int64
		workers int
		want    time.Duration
	}{
		{0, 1, 0}, {1, 1, mostYield}, {1 << 40, 1, leastYield}, {32_000, 1, time.Second}, {32_000, 2, mostYield}, {64_000, 2, time.Second},
	} {
		p := &Pipeline{workers: make([]*recovery.Worker, c.workers)}
		p.pressed.Store(c.rate)
		if got := p.yieldFor(2000); got != c.want {
			t.Errorf("%d positions a second, %d workers: %s, want %s", c.rate, c.workers, got, c.want)
		}
	}
}
