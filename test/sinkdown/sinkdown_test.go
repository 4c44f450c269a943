//go:build services

package sinkdown

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/view"
)

const million = 1_000_000

// The sink's session ends when the database cannot be reached for the plugin's
// connect_patience, an attempt to connect (connect_timeout) may be under way
// then, and /ready turns 2 s later at most (docs/operations.md).
const turnsWithin = (15 + 5 + 2) * time.Second

// outage is 20 s, or what TWG_OUTAGE says: issue 5 wants two minutes.
func outage(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TWG_OUTAGE")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	must(t, err)
	return d
}

// Case 6: the gating sink is away while a million records wait. Memory of host and plugins stays
// within the plan's ceiling, the member in its group, /ready tells; afterwards
// everything arrives once, and what was sent twice is what was in flight.
func TestSinkDown(t *testing.T) {
	w := newWorld(t, "32MiB")
	w.produce(million, func(i int) []byte { return fmt.Appendf(nil, `{"order":%d,"text":"%0100d"}`, i, i*7919) })
	plan := w.plan()
	h := w.start()
	h.Eventually("the first records to be durable", func() bool { return h.status().Records > 10_000 })
	h.Eventually("a stable group", func() bool { return w.memberID() != "" })
	before := w.member()

	held := h.withoutSink(outage(t), before)
	h.Eventually("a host that is ready again", func() bool { v, _ := h.ready(); return v.OK })
	h.Eventually("all records", func() bool { return committed(h.status()) == million })
	if !w.beats(before) {
		t.Errorf("the group is no longer in generation %d of %s: %+v", before.generation, before.id, w.member())
	}
	p := h.status()
	if again := int64(p.Sink.BatchRecords.Sum) - million; again < 0 || again > held {
		t.Errorf("%d records were sent twice, %d were in flight", again, held)
	} else {
		t.Logf("%d records were sent twice, %d were in flight; %d sessions with the sink failed", again, held, p.Sink.Restarts)
	}
	h.Stop()
	w.eachOnce(million)
	h.keptTo(plan)
}

// withoutSink kills the database's server and starts it again after a while. It
// returns how many records the host held then.
func (h *host) withoutSink(d time.Duration, m member) (held int64) {
	t, gone := h.w.t, time.Now()
	t.Helper()
	h.w.db.Kill()
	h.Eventually("a host that says that its sink fails", func() bool { _, fails := h.ready(); return fails })
	if took := time.Since(gone); took > turnsWithin {
		t.Errorf("/ready turned after %s, later than %s", took, turnsWithin)
	} else {
		t.Logf("/ready turned after %.1f s", took.Seconds())
	}
	h.Eventually("the end of the outage", func() bool {
		if id := h.w.memberID(); id != m.id {
			t.Errorf("after %s the group's member is %q, it was %q", time.Since(gone), id, m.id)
		}
		held = max(held, inFlight(h.status()))
		return t.Failed() || time.Since(gone) > d
	})
	p := h.status()
	if at := committed(p); at >= million || held == 0 {
		t.Errorf("%d records are committed and %d in flight: nothing waited for the sink", at, held)
	}
	t.Logf("%d records committed before, %d in flight, backpressure %s", committed(p), held, p.Flow.Backpressure)
	must(t, h.w.db.Start(t.Context()))
	back := time.Now()
	h.Eventually("a sink that does not fail", func() bool { _, fails := h.ready(); return !fails })
	t.Logf("/ready turned back %.1f s after the server was there again", time.Since(back).Seconds())
	return held
}

func committed(p view.Pipeline) (n int64) {
	for _, s := range p.Streams {
		n += max(s.Committed, 0)
	}
	return n
}

func inFlight(p view.Pipeline) (n int64) {
	for _, s := range p.Streams {
		n += s.Tail - s.Frontier
	}
	return n
}
