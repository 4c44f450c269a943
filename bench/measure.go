package main

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// measure alternates twg and the yardstick and makes a row of the medians.
func (h *harness) measure(ctx context.Context, bc benchCase) (row, error) {
	var pairs []pair
	for i := range h.options.Runs {
		p, err := h.measurePair(ctx, bc)
		if err != nil {
			return row{}, err
		}
		fmt.Fprintf(os.Stderr, "bench: %s %d/%d: %s\n", bc.name, i+1, h.options.Runs, p)
		pairs = append(pairs, p)
	}
	return makeRow(bc.name, h.options.Records, pairs), nil
}

// measurePair runs each once and, into a database, twg once more with two
// connections.
func (h *harness) measurePair(ctx context.Context, bc benchCase) (pair, error) {
	var p pair
	var err error
	if p.twg, err = h.runOnce(ctx, twg, h.place(bc, 1), bc.topic); err != nil {
		return p, err
	}
	if p.yardstick, err = h.runOnce(ctx, yardstick, h.place(bc, 1), bc.topic); err != nil {
		return p, err
	}
	if bc.sink == postgresSink {
		if p.two, err = h.runOnce(ctx, twg, h.place(bc, 2), bc.topic); err != nil {
			return p, err
		}
	}
	return p, p.check()
}

// measureMemory runs twg once over all topics together, to see the host's
// memory over as many records as there are. They go where the first row's go.
func (h *harness) measureMemory(ctx context.Context) (memory, error) {
	var topics []string
	cases := h.options.pairCases()
	for _, c := range cases {
		if !slices.Contains(topics, c.topic) {
			topics = append(topics, c.topic)
		}
	}
	o, err := h.runOnce(ctx, twg, h.place(cases[0], 1), topics...)
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
