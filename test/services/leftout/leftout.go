// Package leftout says what a run of the tests leaves out. Tests that need a
// real Apache Kafka or a real PostgreSQL have the build tag "services"; the
// servers are started by the packages kafka and postgres beside this one. See
// docs/testing.md.
package leftout

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// constraint is the first line of a test file that needs a server.
const constraint = "//go:build services\n"

// Packages lists the packages below root, a module's directory, of which a run
// without the tag leaves tests out.
func Packages(root string) ([]string, error) {
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("look for tests that need a server: %w", err)
		}
		if !bytes.Contains(text, []byte(constraint)) {
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err == nil && (len(out) == 0 || out[len(out)-1] != rel) {
			out = append(out, rel)
		}
		return err
	})
	return out, err
}
