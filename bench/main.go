// Command bench measures twg against a one-process yardstick: Kafka to
// Parquet and to PostgreSQL, the same records, the same durability, alternating in one run. Three
// rows more are of raw-first: secondaries, a dead one, and recovery. It prints a table and writes bench/out/latest.json; docs/bench.md explains
// both. Run it from the repository's root.
//
// The environment shortens a run: ROWS (records a topic), RUNS (pairs), ONLY
// (names of rows, comma-separated); PROFILE=1 writes CPU profiles. It exits 1
// only if a result is wrong or the yardstick is too slow to be one; a ratio
// is reported, not asserted.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := runBench
	if isBroker() {
		run = brokerMain
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func runBench(ctx context.Context) error {
	o, err := parseOptions(os.Getenv)
	if err != nil {
		return err
	}
	rep, err := bench(ctx, o)
	if err != nil {
		return err
	}
	if err := writeJSON(o.outFile(), rep); err != nil {
		return err
	}
	writeTable(os.Stdout, rep)
	return rep.check()
}

// bench measures every row, then the host's memory.
func bench(ctx context.Context, o options) (report, error) {
	rep := report{Options: o}
	h, err := newHarness(ctx, o)
	if err != nil {
		return rep, err
	}
	defer h.close()
	for _, c := range o.cases() {
		if err := h.addCase(ctx, c, &rep); err != nil {
			return rep, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if len(rep.Rows) == 0 {
		return rep, nil
	}
	if rep.Memory, err = h.measureMemory(ctx); err != nil {
		return rep, fmt.Errorf("memory: %w", err)
	}
	return rep, nil
}

func (h *harness) addCase(ctx context.Context, c benchCase, rep *report) error {
	if c.scenario != "" {
		s, err := h.measureScenario(ctx, c)
		rep.Scenarios = append(rep.Scenarios, s)
		return err
	}
	r, err := h.measure(ctx, c)
	rep.Rows = append(rep.Rows, r)
	return err
}
