package deptest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGeneratedCodeIsUpToDate generates anew and compares.
func TestGeneratedCodeIsUpToDate(t *testing.T) {
	// Read here, so that a cached result does not outlive a change of it.
	if _, err := os.ReadFile(filepath.Join(root, "proto", "twg", "v1", "twg.proto")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./internal/protogen", "proto", dir)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("protogen: %v\n%s", err, out)
	}
	fresh, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(fresh) < 2 {
		t.Fatalf("protogen wrote %v, %v", fresh, err)
	}
	for _, f := range fresh {
		committed := filepath.Join(root, "internal", "twgpb", filepath.Base(f))
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(committed); err != nil || !bytes.Equal(got, want) {
			t.Errorf("internal/twgpb/%s is not what proto gives: run go generate ./internal/twgpb (%v)", filepath.Base(f), err)
		}
	}
}
