package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
)

// The rows that are more than twg against the yardstick.
const (
	rawFirstRow = "raw-first"
	deadRow     = "raw-first-dead-secondary"
	recoveryRow = "recovery"
	flowRow     = "flow-control"
)

// sample is what one pair of runs showed, by name.
type sample map[string]float64

func (s sample) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+" "+number(s[name]))
	}
	return strings.Join(parts, "; ")
}

// scenario is one such row. Figures are medians over the pairs, and
// ratios medians of the pairs' own.
type scenario struct {
	Name      string     `json:"name"`
	Records   int64      `json:"records"`
	Figures   []figure   `json:"figures"`
	Judgments []judgment `json:"judgments"`
	Runs      []sample   `json:"runs"`
}

// figure is a value that is reported and not judged.
type figure struct {
	What  string  `json:"what"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit,omitempty"`
}

// judgment is a value with what is expected of it: at least Limit, or at most.
type judgment struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit,omitempty"`
	AtLeast bool    `json:"at_least"`
	Limit   float64 `json:"limit"`
	Pass    bool    `json:"pass"`
}

func atLeast(what string, value, limit float64) judgment {
	return judgment{What: what, Value: value, AtLeast: true, Limit: limit, Pass: value >= limit}
}

func atMost(what string, value, limit float64, unit string) judgment {
	return judgment{What: what, Value: value, Unit: unit, Limit: limit, Pass: value <= limit}
}

// pairOf runs one pair of a scenario; swap: in the other order.
type pairOf func(ctx context.Context, c benchCase, swap bool) (sample, error)

func (h *harness) measureScenario(ctx context.Context, c benchCase) (scenario, error) {
	run, conclude := h.rawFirstPair, concludeRawFirst
	switch c.scenario {
	case deadRow:
		run, conclude = h.deadPair, concludeDead
	case recoveryRow:
		run, conclude = h.recoveryPair, concludeRecovery
	case flowRow:
		run, conclude = h.flowPair, concludeFlow
	}
	s := scenario{Name: c.name, Records: h.options.Records}
	for i := range h.options.Runs {
		x, err := run(ctx, c, i%2 == 1)
		if err != nil {
			return s, err
		}
		s.Runs = append(s.Runs, x)
		fmt.Fprintf(os.Stderr, "bench: %s %d/%d: %s\n", c.name, i+1, h.options.Runs, x)
	}
	conclude(&s)
	return s, nil
}

// median is that of a value over the pairs.
func (s *scenario) median(name string) float64 {
	var vs []float64
	for _, r := range s.Runs {
		vs = append(vs, r[name])
	}
	return median(vs)
}

// ratio is the median over the pairs of one value to another: two runs of a pair
// follow each other, and so find the machine in the same state.
func (s *scenario) ratio(name, to string) float64 {
	var vs []float64
	for _, r := range s.Runs {
		vs = append(vs, r[name]/r[to])
	}
	return median(vs)
}

// worst is the greatest of a value over the pairs.
func (s *scenario) worst(name string) float64 {
	v := 0.0
	for _, r := range s.Runs {
		v = max(v, r[name])
	}
	return v
}

// least is the smallest of a value over the pairs.
func (s *scenario) least(name string) float64 {
	v := math.Inf(1)
	for _, r := range s.Runs {
		v = min(v, r[name])
	}
	return v
}

// show adds medians to what is reported.
func (s *scenario) show(unit string, names ...string) {
	for _, n := range names {
		s.Figures = append(s.Figures, figure{n, s.median(n), unit})
	}
}

func (s *scenario) judge(js ...judgment) { s.Judgments = append(s.Judgments, js...) }

func (s *scenario) write(out io.Writer) {
	fmt.Fprintf(out, "%s (%d records, %d pairs)\n", s.Name, s.Records, len(s.Runs))
	for _, f := range s.Figures {
		fmt.Fprintf(out, "  %-58s %12s %s\n", f.What, number(f.Value), f.Unit)
	}
	for _, j := range s.Judgments {
		sign := "<="
		if j.AtLeast {
			sign = ">="
		}
		fmt.Fprintf(out, "  %-58s %12s %s (expected: %s %s) %s\n", j.What, number(j.Value), j.Unit, sign, number(j.Limit), verdict(j.Pass))
	}
}

func number(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.3f", v), ".000")
}
