package main

import (
	"fmt"

	"github.com/twg-io/twg/test/faults/table"
)

// hostRoleEnv says which half of the work a host does.
const hostRoleEnv = "TWG_RUN_ROLE"

// rawFirstRoles are the hosts of a raw-first run, a place each.
var rawFirstRoles = []string{"ingest", "recovery", "recovery"}

// leaseTTL is how long a window of a dead host stays its own.
const leaseTTL = 2 // seconds

// The secondaries' names, which are their lanes'.
const (
	copyLane = "copy"
	lakeLane = "lake"
)

// rawFirstBlocks are a gating table and two secondaries, a table in the same
// database and a directory. Their buffers are so small that batches are shed
// all the time, and windows so small that there are many.
func rawFirstBlocks(files string) string {
	return postgresBlock("    role    = \"primary-raw\"\n") + fmt.Sprintf(`  sink "pgcopy" %q {
    role   = "secondary"
    buffer = "64KiB"
    config {
      dsn              = env(%q)
      table            = %q
      max_tx_rows      = 2000
      connect_patience = "3s"
      max_backoff      = "500ms"
    }
  }

  sink "parquet" %q {
    role   = "secondary"
    buffer = "256KiB"
    config {
      dir            = %q
      max_file_bytes = "1MB"
      max_file_rows  = 400
      max_file_age   = "500ms"
    }
  }

  recovery {
    window_rows     = 300
    window_duration = "2s"
    lease_ttl       = "%ds"
    budget          = "8MiB"
    interval        = "500ms"
  }
`, copyLane, dsnEnv, table.Copy, lakeLane, files, leaseTTL)
}
