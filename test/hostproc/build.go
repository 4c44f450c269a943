package hostproc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Main builds twg and the named plugins, says where, runs the package's tests
// and returns their exit code.
func Main(m *testing.M, bin *string, plugins ...string) int {
	dir, err := os.MkdirTemp("", "twg-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	programs := map[string]string{"twg": "cmd/twg"}
	for _, p := range plugins {
		programs["twg-plugin-"+p] = "plugins/" + p
	}
	for name, pkg := range programs {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/twg-io/twg/"+pkg).CombinedOutput()
		if err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", pkg, err, out)
			return 1
		}
	}
	*bin = dir
	return m.Run()
}
