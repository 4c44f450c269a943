package main

import (
	"context"
	"fmt"
	"os"
)

// measure alternates twg and the yardstick and makes a row of the medians.
func (h *harness) measure(ctx context.Context, bc benchCase) (row, error) {
	var pairs []pair
	for i := range h.options.Runs {
		a, err := h.runOnce(ctx, twg, bc.topic)
		if err != nil {
			return row{}, err
		}
		b, err := h.runOnce(ctx, yardstick, bc.topic)
		if err != nil {
			return row{}, err
		}
		fmt.Fprintf(os.Stderr, "bench: %s %d/%d: twg %.0f rows/s, yardstick %.0f rows/s\n",
			bc.name, i+1, h.options.Runs, a.rowsPerSecond, b.rowsPerSecond)
		if a.output.ids != b.output.ids {
			return row{}, fmt.Errorf("wrong result: record ids of twg and yardstick differ: %x, %x", a.output.ids, b.output.ids)
		}
		pairs = append(pairs, pair{a, b})
	}
	return makeRow(bc.name, h.options.Records, pairs), nil
}

// measureMemory runs twg once over all topics together, to see the host's
// memory over as many records as there are.
func (h *harness) measureMemory(ctx context.Context) (memory, error) {
	var topics []string
	for _, c := range h.options.cases() {
		topics = append(topics, c.topic)
	}
	o, err := h.runOnce(ctx, twg, topics...)
	if err != nil {
		return memory{}, err
	}
	m := memory{
		Records:     h.options.Records * int64(len(topics)),
		HostPeakRSS: mb(float64(o.peak[roleHost])), HostRSSGrowth: mb(o.rootGrowth),
	}
	for i := range memoryPoints {
		if n := len(o.rootRSS); n > 0 {
			m.HostRSS = append(m.HostRSS, mb(o.rootRSS[i*n/memoryPoints]))
		}
	}
	return m, nil
}
