package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// Whatever happens to a topic (a log that is cut and filled anew, a broker that
// names it late, a deletion and a new creation) and to the host and the store
// meanwhile: each record of the log that is there in the end is in the store
// once, and two records never share a name and a position.
func TestRandomCutsAndNames(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	did := map[string]int{}
	for i := range max(*schedules, 1) {
		at := first + uint64(i)
		if !t.Run(fmt.Sprintf("seed=%d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { cutSchedule(t, at, did) })
		}) {
			t.Fatalf("again: go test ./host/pipeline -run '%s$' -seed %d -schedules 1", t.Name(), at)
		}
	}
	t.Logf("%d schedules from seed %d: %v", *schedules, first, did)
	for _, what := range []string{"cut", "named", "created again", "host stopped", "restored", "start failed", "store's answer lost", "session died before the receipt", "new incarnation"} {
		if *schedules >= 100 && did[what] == 0 {
			t.Errorf("no schedule had: %s", what)
		}
	}
}

func cutSchedule(t *testing.T, at uint64, did map[string]int) {
	w := newCutWorld(at)
	rng := rand.New(rand.NewPCG(at, 3))
	for range 1 + rng.IntN(3) {
		stop := w.host(t)
		back := func() {}
		for range 3 + rng.IntN(20) {
			w.happen()
			time.Sleep(time.Duration(rng.Int64N(int64(3 * time.Second))))
			if !w.forgets && rng.IntN(20) == 0 {
				back = w.snapshot()
			}
		}
		stop()
		w.did["host stopped"]++
		back()
		for range rng.IntN(4) { // while nobody reads
			w.happen()
		}
	}
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	stop := w.host(t)
	time.Sleep(90 * time.Second)
	stop()
	w.judge()
	if err := w.broke(); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(w.story, "\n"))
	}
	for k := range w.rows {
		if strings.Contains(k.Incarnation, "~") {
			w.did["new incarnation"]++
		}
	}
	for what, n := range w.did {
		did[what] += n
	}
}

func (w *cutWorld) config() Config {
	return Config{Name: "p", Owner: "me", Source: &cutSource{w}, Sink: &cutSink{w}, SinkCaps: storeCaps,
		Logger:     slog.New(slog.NewTextHandler(&w.logged, &slog.HandlerOptions{Level: slog.LevelError})),
		SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker, Renames: true}, OnDivergence: DivergenceNewIncarnation, MemoryBudget: 2000}
}

// host runs a pipeline until the function that it returns ends it.
func (w *cutWorld) host(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- New(w.config()).Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Fatalf("the pipeline ended: %v", err)
		}
	}
}
