package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGuide: what the guide shows of this sink is this sink.
func TestGuide(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/plugin-guide.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	walk, _, ok := strings.Cut(string(guide), "## The contract of a sink")
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(walk, -1)
	if !ok || len(blocks) < 4 {
		t.Fatalf("%d pieces of code before the contract", len(blocks))
	}
	for _, b := range blocks {
		if !strings.Contains(string(code), b[1]) {
			t.Errorf("main.go has no\n%s", b[1])
		}
	}
}
