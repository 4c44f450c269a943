package config

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// WriteText writes diagnostics for people.
func WriteText(w io.Writer, ds Diagnostics) error {
	var b strings.Builder
	for _, d := range ds {
		writeOne(&b, d)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeOne(b *strings.Builder, d Diagnostic) {
	fmt.Fprintf(b, "%s: %s\n", strings.ToUpper(d.Severity[:1])+d.Severity[1:], d.Summary)
	switch {
	case d.Line > 0:
		fmt.Fprintf(b, "  %s:%d:%d\n", d.File, d.Line, d.Column)
	case d.File != "":
		fmt.Fprintf(b, "  %s\n", d.File)
	}
	if d.Snippet != "" {
		writeSnippet(b, d)
	}
	for line := range strings.Lines(d.Detail) {
		fmt.Fprintf(b, "  %s\n", strings.TrimRight(line, "\n"))
	}
	b.WriteByte('\n')
}

func writeSnippet(b *strings.Builder, d Diagnostic) {
	head := fmt.Sprintf("%5d | ", d.Line)
	fmt.Fprintf(b, "%s%s\n%s", head, d.Snippet, strings.Repeat(" ", len(head)-2)+"| ")
	for i, r := range []rune(d.Snippet) {
		if i >= d.MarkFrom {
			break
		}
		b.WriteRune(blank(r))
	}
	b.WriteString(strings.Repeat("^", max(1, d.MarkTo-d.MarkFrom)))
	b.WriteByte('\n')
}

// blank is as wide as r: a tab stays one, so that the mark stands below what
// it means.
func blank(r rune) rune {
	if unicode.IsSpace(r) {
		return r
	}
	return ' '
}
