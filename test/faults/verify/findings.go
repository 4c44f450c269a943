package verify

import "fmt"

// Findings are problems, counted by kind, with the first few in words.
type Findings struct {
	Kind  string
	Count int
	First []string
}

// maxShown is how many findings of a kind are put into words.
const maxShown = 5

func (f *Findings) add(format string, args ...any) {
	if f.Count++; len(f.First) < maxShown {
		f.First = append(f.First, fmt.Sprintf(format, args...))
	}
}

// Add counts one finding.
func (f *Findings) Add(format string, args ...any) { f.add(format, args...) }

// Lines are the findings for a report.
func (f Findings) Lines() []string {
	var out []string
	for _, s := range f.First {
		out = append(out, f.Kind+": "+s)
	}
	if more := f.Count - len(f.First); more > 0 {
		out = append(out, fmt.Sprintf("%s: and %d more", f.Kind, more))
	}
	return out
}
