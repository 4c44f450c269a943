package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are what the bench runs: binary and package.
var programs = [][2]string{
	{"bench-yardstick", "bench/yardstick"},
	{"twg", "cmd/twg"},
	{"twg-plugin-kafka-source", "plugins/kafka-source"},
	{"twg-plugin-parquet", "plugins/parquet"},
	{"twg-plugin-postgres", "plugins/postgres"},
}

// build compiles the programs. The bench has a directory of its own for them:
// a profiled binary must not be taken for the product's.
func build(ctx context.Context, o options) error {
	var flags []string
	if o.profile {
		var packages []string
		for _, p := range programs {
			packages = append(packages, p[1])
		}
		var err error
		if flags, err = overlay(o.out, packages); err != nil {
			return err
		}
	}
	for _, p := range programs {
		args := append([]string{"build", "-o", filepath.Join(o.binDir(), p[0])}, flags...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./"+p[1])...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s: %w", p[1], err)
		}
	}
	if !o.has(flowRow) {
		return nil
	}
	args := append([]string{"build", "-tags", "unguarded", "-o", filepath.Join(o.binDir(), unguardedTwg)}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/twg")...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build cmd/twg without flow control: %w", err)
	}
	return nil
}
