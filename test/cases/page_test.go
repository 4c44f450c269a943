package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	code     = regexp.MustCompile("`([^`]+)`")
	testName = regexp.MustCompile(`^Test[A-Za-z0-9]+$`)
)

// The tests that docs/cases.md names are there: in the folder before the colon,
// or in that of the test before.
func TestPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	dir, named := "", 0
	for _, m := range code.FindAllStringSubmatch(strings.ReplaceAll(string(page), "\n", " "), -1) {
		text := m[1]
		if folder, name, ok := strings.Cut(text, ": "); ok && testName.MatchString(name) {
			dir, text = folder, name
		}
		if !testName.MatchString(text) {
			continue
		}
		if named++; !hasTest(t, dir, text) {
			t.Errorf("%s has no %s", dir, text)
		}
	}
	if named < 40 {
		t.Errorf("only %d tests were found on the page", named)
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
