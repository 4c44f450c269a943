package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"
)

// What is expected of a row. Only the yardstick's CPU decides the exit code.
const (
	minRatio   = 0.75
	maxHostCPU = 1.6
)

// maxYardstickCPU is what the yardstick may take itself, without the database,
// in seconds per million records.
func (r row) maxYardstickCPU() float64 {
	if r.TwoConnections > 0 {
		return 3
	}
	return 7
}

type report struct {
	Rows      []row      `json:"rows"`
	Scenarios []scenario `json:"scenarios,omitempty"`
	Memory    memory     `json:"memory"`
	Options   options    `json:"options"`
}

// writeJSON replaces the file at path.
func writeJSON(path string, r report) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

func writeTable(out io.Writer, r report) {
	if len(r.Rows) > 0 {
		writeRows(out, r)
	}
	for _, s := range r.Scenarios {
		s.write(out)
	}
}

func writeRows(out io.Writer, r report) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "row\ttwg rows/s\tyardstick\tratio\t\thost CPU\t\tsource\tsink\tbroker\tdatabase\tyardstick\tits database\tpeak MB\thost MB\tgrowth\t")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.2f\t%s\t%.2f\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%+.1f\t\n",
			x.Name, x.TwgRowsPerS, x.YardstickRowsPerS, x.Ratio, verdict(x.Ratio >= minRatio),
			x.HostCPU, verdict(x.HostCPU <= maxHostCPU), x.SourceCPU, x.SinkCPU, x.BrokerCPU, x.DatabaseCPU, x.YardstickCPU, x.YardstickDatabaseCPU,
			x.PeakRSS, x.HostPeakRSS, x.HostRSSGrowth)
	}
	w.Flush()
	for _, x := range r.Rows {
		if x.TwoConnections > 0 {
			fmt.Fprintf(out, "%s with two connections: %.0f rows/s, %.2f of the yardstick's one\n", x.Name, x.TwoConnections, x.TwoRatio)
		}
	}
	fmt.Fprintf(out, "host memory over %d records in one run: peak %.0f MB, growth %+.1f MB (%s)\n",
		r.Memory.Records, r.Memory.HostPeakRSS, r.Memory.HostRSSGrowth, flatness(r.Memory))
	fmt.Fprintf(out, "medians of %d alternating pairs; CPU in seconds per million records; expected: ratio >= %.2f, host CPU <= %.1f\n",
		r.Options.Runs, minRatio, maxHostCPU)
}

// flatness allows a tenth of the peak, which is what the garbage collector's
// pacing moves by itself. A run that hardly fills memory_budget only shows the
// host's start.
func flatness(m memory) string {
	if m.Records < 1_000_000 {
		return "too few records to tell"
	}
	if m.HostRSSGrowth <= m.HostPeakRSS/10 {
		return "flat"
	}
	return "rising"
}

func verdict(ok bool) string {
	if ok {
		return "PASS"
	}
	return "short"
}

// check refuses a yardstick that is too slow to measure anything against.
func (r report) check() error {
	for _, x := range r.Rows {
		if limit := x.maxYardstickCPU(); x.YardstickCPU > limit {
			return fmt.Errorf("%s: the yardstick took %.2f CPU seconds per million records, more than %.1f: it is too slow to be one",
				x.Name, x.YardstickCPU, limit)
		}
	}
	return nil
}
