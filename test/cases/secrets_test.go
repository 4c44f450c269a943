package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What env() returns is in nothing that is printed: not as a topic's name in
// the progress, and not as a path in an error that a log line quotes. With
// --log-format json every line is JSON.
func TestSecretsStayHidden(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(numbered(5)...)
	text, err := os.ReadFile(w.file(""))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pipeline.hcl")
	hidden := strings.NewReplacer(fmt.Sprintf("[%q]", topic), `[env("CASE_TOPIC")]`, fmt.Sprintf("%q", w.dir), `env("CASE_DIR")`).Replace(string(text))
	if err := os.WriteFile(file, []byte(hidden), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CASE_TOPIC", topic)
	for dir, want := range map[string]int{w.dir + `"quoted\`: 0, `/proc/no"such\place`: 3} {
		t.Setenv("CASE_DIR", dir)
		p := start(t, "--log-format", "json", "--log-level", "debug", "--connect-timeout", "1s", "--until-caught-up", file)
		if code := p.End(); code != want {
			t.Errorf("exit code %d, want %d\n%s", code, want, p.Said())
		}
		for line := range strings.Lines(p.Said()) {
			if strings.Contains(line, topic+"/0") || strings.Contains(line, `such\`) || strings.Contains(line, "quoted") {
				t.Errorf("a secret is shown: %s", line)
			}
			if !json.Valid([]byte(line)) && !strings.HasPrefix(line, "twg: ") {
				t.Errorf("no JSON: %s", line)
			}
		}
		if !strings.Contains(p.Said(), "(hidden)") {
			t.Errorf("nothing is said about it at all:\n%s", p.Said())
		}
	}
}
