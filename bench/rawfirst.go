package main

import (
	"context"
	"fmt"
	"os"
)

// What is expected of raw-first.
const (
	maxSecondCPU = 2.5  // CPU seconds of the host per million records
	minDeadRatio = 0.95 // of a run with a healthy secondary
)

// rawFirstPair runs the yardstick, which writes the table only, then twg with
// one healthy secondary and with two.
func (h *harness) rawFirstPair(ctx context.Context, c benchCase, swap bool) (sample, error) {
	y, err := h.runOnce(ctx, yardstick, rawTable{h.database, 1}, c.topic)
	if err != nil {
		return nil, err
	}
	var one, two live
	steps := []func() error{
		func() (err error) { one, err = h.healthy(ctx, c, "lake"); return err },
		func() (err error) { two, err = h.healthy(ctx, c, "lake", "second"); return err },
	}
	if err := inOrder(swap, steps); err != nil {
		return nil, err
	}
	delivered := func(l live) (n float64) {
		for _, x := range l.lanes {
			n += float64(x.Delivered)
		}
		return n / 1e6
	}
	millions := float64(h.options.Records) / 1e6
	if delivered(two)-delivered(one) < millions/2 {
		return nil, fmt.Errorf("the second secondary got less than half of the records live (%+v, %+v): this machine is too slow to measure what one costs", one.lanes, two.lanes)
	}
	return sample{
		yardstickRate: y.rowsPerSecond, oneRate: one.rowsPerSecond, twoRate: two.rowsPerSecond,
		oneCPU: one.hostCPU / millions, twoCPU: two.hostCPU / millions,
		secondCPU:  (two.hostCPU - one.hostCPU) / (delivered(two) - delivered(one)),
		oneSinkCPU: one.cpu[roleSink] / millions, oneShed: shed(one), twoShed: shed(two), oneDelay: one.delay,
	}, nil
}

const (
	yardstickRate = "yardstick, the table only"
	oneRate       = "raw and one secondary"
	twoRate       = "raw and two secondaries"
	oneCPU        = "host CPU with one secondary"
	twoCPU        = "host CPU with two"
	secondCPU     = "host CPU of a second healthy secondary"
	oneSinkCPU    = "CPU of the sinks' plugins with one secondary"
	oneShed       = "rows shed with one secondary"
	twoShed       = "rows shed with two"
	oneDelay      = "source lag with one secondary"
)

func concludeRawFirst(s *scenario) {
	s.show("rows/s", oneRate, twoRate, yardstickRate)
	s.Figures = append(s.Figures, figure{"ratio to the yardstick", s.ratio(oneRate, yardstickRate), ""})
	s.show("s/M", oneCPU, twoCPU, oneSinkCPU)
	s.show("s", oneDelay)
	s.show("rows", oneShed, twoShed)
	s.judge(atMost(secondCPU, s.median(secondCPU), maxSecondCPU, "s/M"))
}

// inOrder takes the steps from the first on, or from the last.
func inOrder(swap bool, steps []func() error) error {
	for i := range steps {
		if swap {
			i = len(steps) - 1 - i
		}
		if err := steps[i](); err != nil {
			return err
		}
	}
	return nil
}

func shed(l live) (n float64) {
	for _, x := range l.lanes {
		n += float64(x.Shed)
	}
	return n
}

// healthy runs twg with these lakes, rebuilds what they were not sent live, and
// checks that each equals the table.
func (h *harness) healthy(ctx context.Context, c benchCase, lakes ...string) (live, error) {
	t, err := h.fresh(ctx, c)
	if err != nil {
		return live{}, err
	}
	top := topology{role: "ingest", topics: t.topics}
	for _, name := range lakes {
		top.secondaries = append(top.secondaries, lake(t, name))
	}
	l, err := h.runLive(ctx, t, top, c.topic, false)
	if err != nil {
		return l, err
	}
	for _, name := range lakes {
		if l.lanes[name].Delivered == 0 {
			return l, fmt.Errorf("secondary %s got nothing live: it is not a healthy one", name)
		}
		if _, err := h.recoverSink(ctx, t, top, name); err != nil {
			return l, err
		}
	}
	if err := h.checkLakes(ctx, t, lakes...); err != nil {
		return l, fmt.Errorf("left in %s: %w", t.dir, err)
	}
	return l, os.RemoveAll(t.dir)
}

// checkLakes compares the table and the files, row for row and column for
// column, and looks at coverage and offsets.
func (h *harness) checkLakes(ctx context.Context, t task, lakes ...string) error {
	raw, err := readTableRows(ctx, h.database.conn, t.topics, t.options.Records)
	if err != nil {
		return err
	}
	for _, name := range lakes {
		o, err := readLakeRows(lakeDir(t, name), t.topics, t.options.Records)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.ids != raw.ids || o.content != raw.content {
			return fmt.Errorf("wrong result: %s differs from the table: %x %s, %x %s", name, o.ids, o.content, raw.ids, raw.content)
		}
	}
	if err := (rawTable{h.database, 1}).checkCoverage(ctx, t.records()); err != nil {
		return err
	}
	return checkCommitted(ctx, t)
}
