package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs maps the binaries of a run to their packages.
var programs = map[string]string{
	"twg":                     "./cmd/twg",
	"twg-plugin-kafka-source": "./plugins/kafka-source",
	"twg-plugin-parquet":      "./plugins/parquet",
	"twg-plugin-postgres":     "./plugins/postgres",
	// The same under another name, so that the harness can tell a secondary's
	// process from raw's.
	copyPlugin: "./plugins/postgres",
}

// copyPlugin is the executable of the secondary in a table.
const copyPlugin = "twg-plugin-pgcopy"

// build puts the product's binaries, with fault points and perhaps a flaw,
// into dir.
func build(ctx context.Context, dir, mutant string, race bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tags := "faults"
	if mutant != "" {
		tags += ",mutant_" + strings.ReplaceAll(mutant, "-", "_")
	}
	for name, pkg := range programs {
		cmd := exec.CommandContext(ctx, "go", "build", fmt.Sprintf("-race=%t", race), "-tags", tags, "-o", filepath.Join(dir, name), pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}
