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
		a, err := h.runOnce(ctx, twg, bc)
		if err != nil {
			return row{}, err
		}
		b, err := h.runOnce(ctx, yardstick, bc)
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
