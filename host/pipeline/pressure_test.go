package pipeline

import (
	"testing"
	"time"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
)

// Recovery yields while more is left than is done in a quarter of a second, and
// not for a live path that stands.
func TestPressure(t *testing.T) {
	type step struct {
		times       int // so many quarters of a second
		moved, left int64
		behind      bool // after the last of them
	}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"nothing is known yet", []step{{1, 0, 1_000_000, false}}},
		{"catching up", []step{{1, 0, 900, false}, {1, 25, 875, true}, {20, 25, 300, true}, {1, 25, 30, true}, {1, 25, 20, false}}},
		{"steady", []step{{20, 250, 100, false}, {1, 250, 240, false}}},
		{"falls behind", []step{{20, 250, 100, false}, {4, 125, 3000, true}}},
		{"in jumps", []step{{1, 0, 900, false}, {1, 100, 800, true}, {2, 0, 800, true}, {1, 100, 700, true}, {2, 0, 700, true}}},
		{"it stands", []step{{1, 0, 900, false}, {4, 50, 700, true}, {40, 0, 700, false}}},
	} {
		var p pressure
		now := time.Unix(1000, 0)
		for i, s := range c.steps {
			for range s.times {
				now = now.Add(pressureEvery)
				p.see(now, s.moved, s.left)
			}
			if p.behind != s.behind {
				t.Errorf("%s, step %d: behind %t, want %t (rate %v)", c.name, i, p.behind, s.behind, p.rate)
			}
		}
	}
}

// A stream that was started anew has not moved by its position.
func TestProgressOfARun(t *testing.T) {
	for _, holds := range []bool{false, true} {
		p := New(Config{SinkCaps: sdk.Capabilities{HoldsUntilClose: holds}})
		s := sdk.Stream{Cluster: "c", Topic: "t"}
		st := &stream{key: s, run: 7, end: 1000}
		if _, err := p.gate.Start(7, s, 100, 100, sdk.GranularityBatch); err != nil {
			t.Fatal(err)
		}
		if moved, left := p.progress(st); moved != 0 || left != 900 {
			t.Errorf("a new run: moved %d, left %d", moved, left)
		}
		if err := p.gate.Track(1, []sdk.Span{{Stream: s, Run: 7, From: 100, Next: 300}}); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int64{false: 0, true: 200}[holds]
		if moved, left := p.progress(st); moved != want || left != 900-want {
			t.Errorf("holds %t: after 200 were read: moved %d, left %d", holds, moved, left)
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
		{0, 1, 0}, {1, 1, mostYield}, {1 << 40, 1, leastYield}, {64_000, 1, time.Second}, {64_000, 2, 2 * time.Second}, {64_000, 9, mostYield},
	} {
		p := &Pipeline{workers: make([]*recovery.Worker, c.workers)}
		p.pressed.Store(c.rate)
		if got := p.yieldFor(2000); got != c.want {
			t.Errorf("%d positions a second, %d workers: %s, want %s", c.rate, c.workers, got, c.want)
		}
	}
}
