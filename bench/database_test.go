//go:build services

package main

import (
	"context"
	"strings"
	"testing"
)

// The same into a real PostgreSQL.
func TestBenchRunsIntoADatabase(t *testing.T) {
	for _, r := range shortRun(t, "kafka-postgres", "kafka-postgres-zstd") {
		if r.TwoConnections <= 0 || r.TwoRatio <= 0 || len(r.Runs) != 1 || r.Runs[0].Two <= 0 {
			t.Errorf("%s: two connections were not measured: %+v", r.Name, r)
		}
	}
}

// Raw-first in short: the real processes, an outage, recovery, and the checks
// that what was rebuilt equals raw. The figures mean nothing.
func TestScenariosRun(t *testing.T) {
	t.Chdir("..")
	only := []string{rawFirstRow, deadRow, recoveryRow, flowRow + "-postgres"}
	o := options{Records: 6001, Runs: 2, RowsPerFile: 500, only: only, out: t.TempDir()}
	rep, err := bench(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Scenarios) != len(only) || len(rep.Rows) != 0 {
		t.Fatalf("%d scenarios, %d rows", len(rep.Scenarios), len(rep.Rows))
	}
	for i, s := range rep.Scenarios {
		if s.Name != only[i] || len(s.Runs) != 2 || len(s.Figures) == 0 || len(s.Judgments) == 0 {
			t.Errorf("%+v", s)
		}
		for _, f := range s.Figures {
			if f.Unit == "rows/s" && f.Value <= 0 {
				t.Errorf("%s: %s was not measured", s.Name, f.What)
			}
		}
	}
}

// A table that lacks a row, or coverage that says another number, is found.
func TestReadTableFindsWhatIsWrong(t *testing.T) {
	d, err := startDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.close)
	place := rawTable{d, 1}
	topics := task{topics: []string{"t"}, options: options{Records: 8}}
	const rows = `insert into bench select gen_random_uuid(), 't', p, o from generate_series(0, 3) p, generate_series(0, 1) o`
	for _, c := range []struct{ name, change, wrong string }{
		{"complete", "", ""},
		{"one is missing", "delete from bench where partition = 1 and position = 1", "7 rows of 8"},
		{"one is there twice", "update bench set position = 0 where partition = 2", "twice"},
		{"one too many", "insert into bench values (gen_random_uuid(), 't', 0, 2)", "never produced"},
		{"coverage is behind", "update bench_coverage set next_position = 1 where partition = 3", "coverage is of 7 positions"},
	} {
		if err := place.prepare(t.Context(), topics); err != nil {
			t.Fatal(err)
		}
		execAll(t, d, `create table bench ("_twg_record_id" uuid primary key, topic text, partition int, position bigint)`,
			"create table bench_coverage as select p as partition, 0::bigint as from_position, 2::bigint as next_position from generate_series(0, 3) p", rows, c.change)
		_, err := place.read(t.Context(), topics)
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.wrong)
		}
	}
}

func execAll(t *testing.T, d *database, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := d.conn.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}
