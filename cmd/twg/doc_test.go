package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// docs/cli.md names every command and every flag.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&cli{}, kong.Name("twg"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	flags := parser.Model.Flags
	for _, leaf := range parser.Model.Leaves(true) {
		name := leaf.Name
		for up := leaf.Parent; up != nil; up = up.Parent {
			name = up.Name + " " + name
		}
		if name = "`" + name; !strings.Contains(doc, name) {
			t.Errorf("docs/cli.md does not name %s", name)
		}
		flags = append(flags, leaf.Flags...)
	}
	for _, f := range flags {
		if f.Name != "help" && !strings.Contains(doc, "| `--"+f.Name) {
			t.Errorf("docs/cli.md does not explain --%s", f.Name)
		}
	}
}
