package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestMain lets the test binary be the broker, as the bench's own is.
func TestMain(m *testing.M) {
	if isBroker() {
		if err := brokerMain(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "broker:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A short run of everything that needs no server: the real processes, the
// yardstick, the broker, verification and the report. Its figures mean nothing.
func TestBenchRunsEndToEnd(t *testing.T) {
	shortRun(t, "kafka-parquet", "kafka-parquet-zstd")
}

// shortRun returns the rows as they are in the report.
func shortRun(t *testing.T, only ...string) []row {
	t.Helper()
	t.Chdir("..")
	o := options{Records: 2001, Runs: 1, RowsPerFile: 500, only: only, out: t.TempDir()}
	rep, err := bench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeJSON(o.outFile(), rep); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(o.outFile())
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != len(only) || got.Memory.Records != 4002 {
		t.Fatalf("%d rows, memory over %d records", len(got.Rows), got.Memory.Records)
	}
	for _, r := range got.Rows {
		if r.TwgRowsPerS <= 0 || r.YardstickRowsPerS <= 0 || r.HostPeakRSS <= 0 || r.SourcePeakRSS <= 0 || r.SinkPeakRSS <= 0 || r.YardstickPeakRSS <= 0 {
			t.Errorf("%s: something was not measured: %+v", r.Name, r)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(o.out, "twg-*")); left != nil {
		t.Errorf("runs are left: %v", left)
	}
	return got.Rows
}
