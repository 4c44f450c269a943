package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// outcomeOf is a run of one million records.
func outcomeOf(rate, cpu float64) outcome {
	o := outcome{rowsPerSecond: rate, rootGrowth: 1e6, cpu: map[string]float64{}, peak: map[string]int64{}}
	for i, role := range []string{roleHost, roleSource, roleSink, roleBroker, roleYardstick, roleDatabase} {
		o.cpu[role], o.peak[role] = cpu+float64(i), int64(i+1)*1e6
	}
	o.output.bytes = 150e6
	return o
}

func TestMakeRowTakesMedians(t *testing.T) {
	r := makeRow("x", 2_000_000, []pair{
		{outcomeOf(100, 2), outcomeOf(200, 9), outcomeOf(220, 1)},
		{outcomeOf(180, 4), outcomeOf(210, 8), outcomeOf(300, 1)},
		{outcomeOf(150, 3), outcomeOf(100, 2), outcomeOf(90, 1)},
	})
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"twg", r.TwgRowsPerS, 150}, {"yardstick", r.YardstickRowsPerS, 200}, {"ratio", r.Ratio, 0.75},
		{"host", r.HostCPU, 1.5}, {"source", r.SourceCPU, 2}, {"sink", r.SinkCPU, 2.5}, {"broker", r.BrokerCPU, 3},
		{"yardstick CPU", r.YardstickCPU, 6}, {"database CPU", r.DatabaseCPU, 4}, {"yardstick's database CPU", r.YardstickDatabaseCPU, 6.5},
		{"two connections", r.TwoConnections, 220}, {"two ratio", r.TwoRatio, 1.1}, {"peak", r.PeakRSS, 1 + 2 + 3}, {"growth", r.HostRSSGrowth, 1},
		{"bytes", r.TwgBytesPerRow, 75},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
	if len(r.Runs) != 3 || r.Runs[1].Twg != 180 {
		t.Errorf("runs: %+v", r.Runs)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out", "latest.json")
	rep := report{Rows: []row{{Name: "kafka-parquet", TwgRowsPerS: 150, YardstickRowsPerS: 200, Ratio: .75, HostCPU: 1.5, PeakRSS: 90}}}
	if err := writeJSON(path, rep); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows []map[string]any }
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"name": "kafka-parquet", "twg_rows_per_s": 150.0, "yardstick_rows_per_s": 200.0,
		"ratio": .75, "host_cpu_s_per_m": 1.5, "peak_rss_mb": 90.0,
	} {
		if got.Rows[0][key] != want {
			t.Errorf("%s: %v, want %v", key, got.Rows[0][key], want)
		}
	}
}

func TestWriteTableJudges(t *testing.T) {
	for _, c := range []struct {
		ratio, host float64
		pass, short int
	}{
		{.75, 1.6, 2, 0}, {.749, 1.6, 1, 1}, {.9, 1.61, 1, 1}, {.5, 3, 0, 2},
	} {
		var b bytes.Buffer
		writeTable(&b, report{Rows: []row{{Name: "x", Ratio: c.ratio, HostCPU: c.host}}})
		if p, s := strings.Count(b.String(), "PASS"), strings.Count(b.String(), "short"); p != c.pass || s != c.short {
			t.Errorf("ratio %v, host %v: %d PASS and %d short in\n%s", c.ratio, c.host, p, s, b.String())
		}
	}
}

func TestCheckRefusesASlowYardstick(t *testing.T) {
	ok := report{Rows: []row{{Name: "a", YardstickCPU: 7, Ratio: .1}}}
	if err := ok.check(); err != nil {
		t.Errorf("a low ratio must not fail: %v", err)
	}
	if err := (report{Rows: []row{{Name: "a", YardstickCPU: 3.1, TwoConnections: 1}}}).check(); err == nil {
		t.Error("3.1 seconds are too many for a loop into a database")
	}
	slow := report{Rows: []row{{Name: "a", YardstickCPU: 5}, {Name: "b", YardstickCPU: 7.1}}}
	if err := slow.check(); err == nil || !strings.Contains(err.Error(), "b:") {
		t.Errorf("got %v, want an error that names row b", err)
	}
}

func TestFlatness(t *testing.T) {
	for growth, want := range map[float64]string{-5: "flat", 0: "flat", 10: "flat", 10.1: "rising"} {
		if got := flatness(memory{Records: 1_000_000, HostPeakRSS: 100, HostRSSGrowth: growth}); got != want {
			t.Errorf("growth %v of 100: %s, want %s", growth, got, want)
		}
	}
	if got := flatness(memory{Records: 20_000, HostPeakRSS: 100, HostRSSGrowth: 100}); got == "flat" || got == "rising" {
		t.Errorf("a short run is judged: %s", got)
	}
}
