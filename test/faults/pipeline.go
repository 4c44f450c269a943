package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	topicName  = "faults"
	groupName  = "twg-faults"
	partitions = 4
)

// writePipeline writes the file that the host runs. Everything is small and
// quick: the budget holds few batches. Nobody gives up while the broker is away,
// which may be long on a slow machine.
func writePipeline(dir, broker, files string, opt options) (string, error) {
	const text = `pipeline "faults" {
%s  granularity   = %q
  memory_budget = "24MB"
  max_ack_delay = "250ms"

  source "kafka-source" {
    config {
      brokers            = [%q]
      topics             = [%q]
      fetch_max_wait     = "100ms"
      startup_timeout    = "5m"
%s    }
  }

%s}
`
	sink := parquetBlock(files)
	role := ""
	switch {
	case opt.rawFirst():
		role, sink = fmt.Sprintf("  role          = env(%q)\n", hostRoleEnv), rawFirstBlocks(files)
	case opt.sink == "postgres":
		sink = postgresBlock("")
	}
	from := groupLines(opt.protocol)
	if opt.named() {
		from = fmt.Sprintf("      partitions         = [\"0-%d\"]\n", partitions-1)
	}
	path := filepath.Join(dir, "pipeline.hcl")
	return path, os.WriteFile(path, fmt.Appendf(nil, text, role, opt.granularity, broker, topicName, from, sink), 0o644)
}

// groupLines let a member that was killed be missed soon.
func groupLines(protocol string) string {
	return fmt.Sprintf(`      group              = %q
      group_protocol     = %q
      session_timeout    = "1500ms"
      heartbeat_interval = "300ms"
      rebalance_timeout  = "5s"
      revoke_timeout     = "3s"
`, groupName, protocol)
}

// parquetBlock is a sink whose files close often.
func parquetBlock(dir string) string {
	return fmt.Sprintf(`  sink "parquet" "raw" {
    durable = true
    config {
      dir            = %q
      max_file_bytes = "1MB"
      max_file_rows  = 400
      max_file_age   = "500ms"
    }
  }
`, dir)
}
