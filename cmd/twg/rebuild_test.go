package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/internal/devkafka"
)

const rebuildFile = `
pipeline "quakes" {
  role = env("TWG_ROLE")
  recovery {
    window_rows = 100
    interval    = "50ms"
    lease_ttl   = "2s"
  }
  source "kafka-source" {
    config {
      brokers = [env("TWG_BROKERS")]
      topics  = ["earthquakes"]
      group   = "g"
    }
  }
  sink "parquet" "db" {
    role    = "primary-raw"
    durable = true
    config { dir = "raw" }
  }
  sink "parquet" "lake" {
    role = "secondary"
    config { dir = "lake" }
  }
}
`

// rebuilt: a secondary that cannot be written while everything is ingested
// keeps nobody waiting, nothing that it lacks is pruned, and it is rebuilt.
func rebuilt(t *testing.T, plugins string) {
	data, err := filepath.Abs("../../examples/data/earthquakes.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devkafka.Start(t.Context(), devkafka.Options{
		Listen: "127.0.0.1:0", Load: []devkafka.Load{{Topic: "earthquakes", File: data, Key: "/id", Timestamp: "/properties/time"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	t.Setenv("TWG_BROKERS", broker.Addr)
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string, args ...string) {
		t.Helper()
		args = append([]string{"--plugin-dir", plugins, "--log-level", "error"}, append(args, "p.hcl")...)
		code, stdout, stderr := twg(args...)
		if code != exitOK || !strings.Contains(stdout, want) {
			t.Fatalf("%v: exit code %d, want %q in\n%s\n%s", args, code, want, stdout, stderr)
		}
	}
	write("p.hcl", rebuildFile)
	write("lake", "where a directory should be")
	t.Setenv("TWG_ROLE", "ingest")
	expect("delivered 1707 records", "run", "--until-caught-up")
	expect(`"lag": 1707`, "status", "--json")
	expect(`Deleted 0 rows from sink "db"`, "raw", "prune", "--below", "100")
	if err := os.Remove("lake"); err != nil {
		t.Fatal(err)
	}
	expect(`rebuilt 1,707 positions of "lake"`, "recover", "--sink", "lake", "--orphans")
	expect(`rebuilt 0 positions of "lake"`, "recover", "--sink", "lake", "--orphans", "--retry-rejected")
	expect("Nothing is missing.", "status")
	checkEqualRows(t)
	expect(`Deleted 1,707 rows from sink "db"`, "raw", "prune", "--older-than", "1h")
	expect("Nothing is missing.", "status")
	t.Setenv("TWG_ROLE", "recovery")
	expect("secondary sink lake: nothing to rebuild", "run", "--until-caught-up")
}

// checkEqualRows: the secondary has the rows that raw has, each once.
func checkEqualRows(t *testing.T) {
	t.Helper()
	raw, lake := parquetRows(t, "raw"), parquetRows(t, "lake")
	if len(raw) != 1707 || !maps.Equal(raw, lake) {
		t.Errorf("raw has %d different rows, lake %d, or they differ", len(raw), len(lake))
	}
	for row, n := range lake {
		if n != 1 {
			t.Errorf("%d times: %.60s", n, row)
		}
	}
}

// parquetRows counts how often each row is in a directory.
func parquetRows(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range f.RowGroups() {
			countRows(t, g, out)
		}
	}
	return out
}

func countRows(t *testing.T, g parquet.RowGroup, out map[string]int) {
	t.Helper()
	rows := g.Rows()
	defer rows.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buf)
		for _, r := range buf[:n] {
			out[fmt.Sprintf("%+v", r)]++
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
