package verify

import "fmt"

// Findings are problems, counted by kind, with the first of them in words.
type Findings struct {
	Kind  string
	Count int
	First []string
}

const (
	// maxKept is how many findings of a kind are put into words, maxShown how
	// many of those a report shows.
	maxKept  = 1000
	maxShown = 5
)

func (f *Findings) add(format string, args ...any) {
	if f.Count++; len(f.First) < maxKept {
		f.First = append(f.First, fmt.Sprintf(format, args...))
	}
}

// Add counts one finding.
func (f *Findings) Add(format string, args ...any) { f.add(format, args...) }

// Lines are the findings for a report, All those that were kept.
func (f Findings) Lines() []string { return f.lines(maxShown) }

// All are all findings that were put into words.
func (f Findings) All() []string { return f.lines(maxKept) }

func (f Findings) lines(most int) []string {
	var out []string
	for _, s := range f.First[:min(most, len(f.First))] {
		out = append(out, f.Kind+": "+s)
	}
	if more := f.Count - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%s: and %d more", f.Kind, more))
	}
	return out
}
