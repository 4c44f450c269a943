package main

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// A yardstick that shares code with what it measures measures nothing.
func TestYardstickSharesNoCodeWithTheProduct(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		files++
		for _, i := range f.Imports {
			if strings.Contains(i.Path.Value, "twg-io/twg") {
				t.Errorf("%s imports %s", e.Name(), i.Path.Value)
			}
		}
	}
	if files == 0 {
		t.Error("no files")
	}
}
