package main

import "testing"

func TestParseOptions(t *testing.T) {
	for _, c := range []struct {
		name    string
		env     map[string]string
		records int64
		runs    int
		cases   int
		bad     bool
	}{
		{name: "defaults", records: 1_000_000, runs: 3, cases: 9},
		{name: "short", env: map[string]string{"ROWS": "5000", "RUNS": "1", "ONLY": "kafka-parquet-zstd"}, records: 5000, runs: 1, cases: 1},
		{name: "both by name", env: map[string]string{"ONLY": "kafka-parquet,kafka-parquet-zstd"}, records: 1_000_000, runs: 3, cases: 2},
		{name: "no number", env: map[string]string{"ROWS": "many"}, bad: true},
		{name: "too few", env: map[string]string{"ROWS": "1"}, bad: true},
		{name: "no runs", env: map[string]string{"RUNS": "0"}, bad: true},
		{name: "unknown row", env: map[string]string{"ONLY": "kafka-nothing"}, bad: true},
	} {
		o, err := parseOptions(func(k string) string { return c.env[k] })
		if (err != nil) != c.bad {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err == nil && (o.Records != c.records || o.Runs != c.runs || len(o.cases()) != c.cases) {
			t.Errorf("%s: %+v with %d cases", c.name, o, len(o.cases()))
		}
	}
}
