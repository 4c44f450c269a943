package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The profiling code is text to the compiler until it is overlaid; this
// compiles it.
func TestProfiledProgramCompiles(t *testing.T) {
	src, err := filepath.Abs("yardstick")
	if err != nil {
		t.Fatal(err)
	}
	flags, err := overlay(t.TempDir(), []string{src})
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(t.TempDir(), "yardstick")
	cmd := exec.Command("go", append(append([]string{"build", "-o", bin}, flags...), ".")...)
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Error(err)
	}
}
