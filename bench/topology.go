package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// topology is a pipeline with a table that alone gates, and secondaries.
type topology struct {
	role        string // of the host
	topics      []string
	secondaries []secondary
}

// secondary is a sink that does not gate.
type secondary struct {
	name, plugin string
	config       string // its settings, a line each
}

// rawFirstText bounds records and producers' batches, which are small here: the
// ceiling that the plan prints is then near what such records take.
const rawFirstText = `pipeline "bench" {
  role             = %q
  max_record_bytes = "1MiB"
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%s]
      group   = %q
      start   = "earliest"

      max_batch_bytes = "4MiB"
    }
  }
  sink "postgres" "raw" {
    role    = "primary-raw"
    durable = true
    config {
      dsn   = %q
      table = %q
    }
  }
%s  recovery {
    interval = "250ms"
  }
}
`

const secondaryText = `  sink %q %q {
    role   = "secondary"
    buffer = "64MiB"
    config {
%s    }
  }
`

// writeFile writes the pipeline's file into the run's directory and returns
// its name.
func (h *harness) writeFile(t task, top topology) (string, error) {
	var sinks strings.Builder
	for _, s := range top.secondaries {
		fmt.Fprintf(&sinks, secondaryText, s.plugin, s.name, s.config)
	}
	h.files++
	file := filepath.Join(t.dir, fmt.Sprintf("raw-first-%d.hcl", h.files))
	text := fmt.Sprintf(rawFirstText, top.role, t.address, quoted(top.topics), t.group, h.database.server.DSN(""), tableName, sinks.String())
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return "", fmt.Errorf("write pipeline file: %w", err)
	}
	return file, nil
}

func (h *harness) twg(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(h.options.binDir(), "twg"), args...)
}

// lake is a secondary of Parquet files in a directory of the run's.
func lake(t task, name string) secondary {
	return secondary{name, "parquet", fmt.Sprintf("      dir = %q\n      max_file_rows = %d\n", lakeDir(t, name), t.options.RowsPerFile)}
}

func lakeDir(t task, name string) string { return filepath.Join(t.dir, name) }

// takeAway makes the lake's target unreachable, also for root: a file stands
// where the directory should be. bringBack ends that.
func takeAway(t task, name string) error { return os.WriteFile(lakeDir(t, name), nil, 0o644) }

func bringBack(t task, name string) error { return os.Remove(lakeDir(t, name)) }

// copyTable is a secondary of a table in a database of its own, on the same
// server.
func copyTable(dsn, name, table string) secondary {
	return secondary{name, "postgres", fmt.Sprintf("      dsn = %q\n      table = %q\n", dsn, table)}
}

// nowhere is where no database answers: port 1 has no server.
const nowhere = "postgres://twg@127.0.0.1:1/nowhere?sslmode=disable"
