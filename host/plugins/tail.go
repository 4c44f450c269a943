package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

const (
	tailLines    = 20
	tailLineSize = 1 << 10
)

// tail keeps the last lines that a plugin wrote, for errors.
type tail struct {
	mu    sync.Mutex
	lines []string
	open  []byte // the line that has not ended yet
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range p {
		switch {
		case b == '\n':
			t.end()
		case len(t.open) < tailLineSize:
			t.open = append(t.open, b)
		}
	}
	return len(p), nil
}

func (t *tail) end() {
	if len(t.open) > 0 {
		t.lines = append(t.lines, readable(string(t.open)))
	}
	t.open = t.open[:0]
	if len(t.lines) > tailLines {
		t.lines = slices.Delete(t.lines, 0, len(t.lines)-tailLines)
	}
}

// String is empty or begins on a new line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) > 0 {
		t.end()
	}
	if len(t.lines) == 0 {
		return ""
	}
	return "\n  stderr: " + strings.Join(t.lines, "\n  stderr: ")
}

// readable turns a line of structured log into one for people.
func readable(line string) string {
	var m map[string]any
	if json.Unmarshal([]byte(line), &m) != nil || m["@message"] == nil {
		return line
	}
	out := fmt.Sprintf("%v: %v", m["@level"], m["@message"])
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !strings.HasPrefix(k, "@") {
			out += fmt.Sprintf(" %s=%v", k, m[k])
		}
	}
	return out
}
