package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// docSection is the text of docs/config.md below a heading.
func docSection(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), heading+"\n")
	if !ok {
		t.Fatalf("docs/config.md has no heading %q", heading)
	}
	section, _, _ := strings.Cut(after, "\n#")
	return section
}

// documented checks that the section's table has the attributes of the code,
// with their defaults, and no others.
func documented[T any](t *testing.T, heading string, table []attribute[T]) {
	t.Helper()
	rows := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]+) \\| ([^|]+) \\|").FindAllStringSubmatch(docSection(t, heading), -1)
	var got, want []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s = %s", r[1], r[3]))
	}
	for _, a := range table {
		def := "none"
		if a.def != "" {
			def = "`" + a.def + "`"
		}
		want = append(want, fmt.Sprintf("%s = %s", a.name, def))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("docs/config.md, %q:\n%s\nthe code:\n%s", heading, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDocumented(t *testing.T) {
	documented(t, "## Top of the file", fileAttributes)
	documented(t, "## admin", adminAttributes)
	documented(t, "## pipeline \"name\"", pipelineAttributes)
	documented(t, "### topic \"name\"", topicAttributes)
	documented(t, "### recovery", recoveryAttributes)
	documented(t, "### flow", flowAttributes)
	documented(t, "### source \"plugin\"", sourceAttributes)
	documented(t, "### sink \"plugin\" \"name\"", sinkAttributes)
	values := docSection(t, "## Values")
	for name := range functions(goldenEnv(), &Secrets{}) {
		if !strings.Contains(values, "| `"+name+"(") {
			t.Errorf("docs/config.md does not explain %s()", name)
		}
	}
}

// The defaults in the tables must be legal.
func TestDefaultsAreLegal(t *testing.T) {
	for _, a := range pipelineAttributes {
		if a.def == "" {
			continue
		}
		if err := a.set(&Pipeline{}, cty.StringVal(a.def)); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
	}
}
