package pipeline

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

var (
	schedules = flag.Int("schedules", 100, "random schedules to run")
	seed      = flag.Uint64("seed", 0, "the first schedule's seed; 0: a new one")
)

// INV1, INV2, INV4, INV5, INV6: whatever fails, in whatever order, no commit
// is ahead of the store, nothing is lost or there twice, memory is bounded,
// and once faults cease everything catches up. One schedule is one seed; what
// goroutines do at the same moment of virtual time is not part of it.
func TestRandomSchedules(t *testing.T) {
	randomSchedules(t, *schedules, inProcess, "session died before the write", "session died before the receipt",
		"transaction rolled back", "part of a span", "fenced")
}

// The same with source and sink behind the wire protocol, as processes are.
func TestRandomSchedulesOverTheWire(t *testing.T) {
	randomSchedules(t, max(*schedules/5, 1), overWire, "session died before the write", "session died before the receipt")
}

// stage is what the pipelines of a schedule work with.
type stage int

const (
	inProcess stage = iota // fakes
	overWire               // fakes behind the wire protocol
	onFiles                // the Parquet sink
)

// randomSchedules runs schedules, and makes sure that they had what they were
// to have.
func randomSchedules(t *testing.T, count int, on stage, must ...string) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	did := map[string]int{}
	for i := range count {
		at := first + uint64(i)
		ok := t.Run(fmt.Sprintf("seed=%d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for what, n := range schedule(t, at, on) {
					did[what] += n
				}
			})
		})
		if !ok {
			t.Fatalf("again: go test ./host/pipeline -run '%s$' -seed %d -schedules 1", t.Name(), at)
		}
	}
	t.Logf("%d schedules from seed %d: %v", count, first, did)
	for _, what := range append(must, "revoked", "lost", "retention", "gap", "source failed", "another host acquired", "stopped", "zombie") {
		if did[what] == 0 && count >= 100 {
			t.Errorf("no schedule had: %s", what)
		}
	}
}

// schedule runs pipelines, one after the other and a zombie beside them,
// through faults, and then one in peace.
func schedule(t *testing.T, seed uint64, on stage) map[string]int {
	w := newWorld(seed, 1+int(seed%4), on)
	var zombie *host
	for range 1 + w.n(3) {
		h := w.begin(t)
		h.storm(t, w)
		if zombie != nil {
			zombie.end(t)
			zombie = nil
		}
		if w.n(3) == 0 { // without a stop in between
			w.setCalm(true)
			h.catchUp(t, w)
			w.setCalm(false)
		}
		if w.n(3) == 0 {
			zombie = h
			w.bury(h)
			continue
		}
		if w.dir != nil && w.n(2) == 0 {
			zombie = h
			w.powerCut(h)
			continue
		}
		h.end(t)
	}
	w.setCalm(true)
	last := w.begin(t)
	if zombie != nil {
		time.Sleep(w.pause(3 * time.Minute))
		zombie.end(t)
	}
	last.catchUp(t, w)
	last.end(t)
	if w.dir != nil {
		w.dir.read(w)
	}
	w.judge()
	if err := w.broke(); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(w.did)
}

// host is one pipeline that runs.
type host struct {
	p      *Pipeline
	src    *chaosSource
	cancel context.CancelFunc
	done   chan error
	limit  int64
	files  *fileSink // nil: another sink
}

var chaosBudgets = []int64{300, 1500, 6000, 1 << 20}

func (w *world) begin(t *testing.T) *host {
	h := &host{src: &chaosSource{w: w}, done: make(chan error, 1), limit: chaosBudgets[w.n(len(chaosBudgets))]}
	sink := &chaosSink{w: w, hold: w.n(2) == 0, room: 1 + w.n(8)}
	caps := storeCaps
	if w.storeless {
		caps = sdk.Capabilities{Durable: true}
	}
	caps.HoldsUntilClose = sink.hold
	cfg := Config{Name: "p", Owner: "me", Source: h.src, Sink: sink, SinkCaps: caps,
		SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker}, MemoryBudget: h.limit,
		MaxAckDelay: w.pause(20 * time.Second), OnGap: GapContinue, Logger: quiet()}
	switch w.n(3) {
	case 0:
		cfg.Granularity = sdk.GranularityRecord
	case 1:
		cfg.TopicGranularity = map[string]sdk.Granularity{"r": sdk.GranularityRecord}
	}
	switch w.on {
	case overWire:
		cfg.Source, cfg.Sink = wired(t, h.src).Source(), wired(t, sink).Sink(caps)
	case onFiles:
		h.files = w.dir.sink(fmt.Sprintf(`{"dir":"mem","max_file_age":%q,"max_file_rows":%d,"compression":"none"}`,
			w.pause(30*time.Second)+10*time.Millisecond, 1+w.n(60)))
		cfg.Sink, cfg.SinkCaps.HoldsUntilClose = h.files, true
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.p, h.cancel = New(cfg), cancel
	go func() { h.done <- h.p.Run(ctx) }()
	t.Cleanup(cancel) // of a schedule that failed
	return h
}

// storm lets things happen for a while.
func (h *host) storm(t *testing.T, w *world) {
	for range 5 + w.n(30) {
		time.Sleep(w.pause(3 * time.Second))
		w.grow()
		if w.n(6) == 0 {
			w.intrude()
		}
		if h.files != nil && w.fault(6, "sink killed") {
			h.files.kill(false)
		}
		h.check(t, w)
	}
}

// check looks at what must hold at any moment.
func (h *host) check(t *testing.T, w *world) {
	t.Helper()
	select {
	case err := <-h.done:
		t.Fatalf("it ended by itself: %v\n%s", err, strings.Join(w.story, "\n"))
	default:
	}
	if err := w.broke(); err != nil {
		t.Fatal(err)
	}
	const frame = 4 << 10 // more than any of chaosReader.batch
	if s := h.p.Status(); s.InFlight > h.limit+frame {
		t.Fatalf("INV5: %d bytes are held, the budget is %d", s.InFlight, h.limit)
	}
}

// end stops a host gracefully.
func (h *host) end(t *testing.T) {
	h.src.w.mu.Lock()
	h.src.w.did["stopped"]++
	h.src.w.mu.Unlock()
	h.cancel()
	began := time.Now()
	select {
	case err := <-h.done:
		if err != nil && !errors.Is(err, ErrShutdownTimeout) {
			t.Fatalf("the stop failed: %v", err)
		}
	case <-time.After(2 * DefaultShutdownTimeout):
		t.Fatal("it does not stop")
	}
	if d := time.Since(began); d > DefaultShutdownTimeout+time.Second {
		t.Fatalf("the stop took %v", d)
	}
}

// bury makes a zombie of a host: the group has put it out, and nobody tells
// it.
func (w *world) bury(h *host) {
	h.src.setBlind(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did["zombie"]++
	w.note("%p is a zombie now", h.p.cfg.Sink)
	for _, p := range w.parts {
		p.owner, p.run = nil, 0
	}
}

// powerCut ends a host with its machine. What is left of it goes on for a
// while, and must not matter.
func (w *world) powerCut(h *host) {
	w.bury(h)
	h.files.kill(true)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dir.powerCut(w)
}

// catchUp waits until everything is durable and committed.
func (h *host) catchUp(t *testing.T, w *world) {
	for deadline := time.Now().Add(10 * time.Minute); !w.caughtUp(); {
		if time.Now().After(deadline) {
			t.Fatalf("INV4: it does not catch up: %+v; %s\n%s", h.p.Status(), w.standing(), strings.Join(w.story, "\n"))
		}
		time.Sleep(time.Second)
		h.check(t, w)
	}
}

func (w *world) setCalm(calm bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calm = calm
	if w.dir != nil {
		w.dir.calm.Store(calm)
	}
}

func (w *world) caughtUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		if p.committed != p.end || w.hole(p) != p.end {
			return false
		}
	}
	return true
}

func (w *world) standing() (out string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		out += fmt.Sprintf("%s: committed %d, hole %d, [%d,%d), owned %v, run %d; ", p.key, p.committed, w.hole(p), p.start, p.end, p.owner != nil, p.run)
	}
	return out
}
