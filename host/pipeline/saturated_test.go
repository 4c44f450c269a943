package pipeline

import (
	"testing"
	"time"

	"github.com/twg-io/twg/host/flow"
)

// F1, F8: to catch up with a sink that is slower than the source is the usual
// case, and steady: the machine settles, no state ends by its own doing, and the
// sink is never idle. When it is over the machine goes back to normal.
func TestCatchingUpIsNoSawtooth(t *testing.T) {
	for name, budget := range map[string]int64{"a small budget": mib, "a large one": 64 * mib} {
		t.Run(name, func(t *testing.T) {
			const records, perBatch, each = 120_000, 100, 500 * time.Millisecond
			src := &loadSource{parts: 1, records: records, perPart: perBatch, size: bytesEach(8000)}
			underLoad(t, src, func(r *rig, cfg *Config) {
				cfg.MemoryBudget = budget
				r.sink.delay = each
			}, func(r *rig) {
				began := time.Now()
				r.pass(8 * time.Minute)
				s, got := r.flow(), r.p.Status().Records
				if s.Changes > 2 || s.Paused || !s.SinkIsBottleneck || s.State == flow.Critical {
					t.Errorf("after %s: %+v", time.Since(began), s)
				}
				if most := int64(time.Since(began)/each) * perBatch; got < most*95/100 {
					t.Errorf("%d records, the sink could have taken %d: it was idle", got, most)
				}
				r.caughtUp(10 * time.Minute)
				r.pass(2 * time.Minute)
				if s := r.flow(); s.State != flow.Normal || s.Changes > 4 {
					t.Errorf("afterwards: %+v", s)
				}
			})
		})
	}
}
