package plugins

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDelaysGrowAndBeginAnew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := delays{Backoff: Backoff{}.orDefault()}
		want := time.Duration(0)
		for range rapid.IntRange(1, 30).Draw(t, "restarts") {
			healthy := rapid.Float64().Draw(t, "luck") < 0.1
			lived := time.Second
			if healthy {
				lived = d.Healthy
			}
			if want = min(2*want, d.Max); healthy || want == 0 {
				want = d.First
			}
			if got := d.next(lived); got < want/2 || got > want {
				t.Fatalf("delay %v, want about %v", got, want)
			}
		}
	})
}
