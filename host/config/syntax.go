package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// The parser says what is wrong with a text's form in the terms of its grammar.
// Where that does not tell what to write instead, these sentences do.
var inOtherWords = map[string]string{
	"Missing newline after argument":        `The value ends here, and more follows. Text, durations and sizes stand in double quotes, like "30s"; what is another attribute stands on a line of its own.`,
	"Invalid multi-line string":             `The closing quote is missing. Write it on the same line; \n stands for the end of a line.`,
	"Unterminated template string":          `The closing quote is missing.`,
	"Argument or block definition required": `Write an attribute, name = value, or a block, name "label" { ... }. A pipeline file is neither JSON nor YAML.`,
	"Invalid block definition":              `A block is name "label" { ... }, its first brace on the same line. If this is to be an attribute, the equals sign is missing: name = value.`,
	"Argument definition required":          `In braces on a single line there may be one attribute and no block. Give each attribute and each block a line of its own.`,
	"Invalid expression":                    valueMissing,
	"Invalid character":                     valueMissing,
}

const valueMissing = `A value is missing here, or is none. Text stands in double quotes; an environment variable is env("NAME").`

// wording is what a parser's diagnostic says to people.
func wording(x *hcl.Diagnostic) string {
	ours, ok := inOtherWords[x.Summary]
	if !ok || strings.HasPrefix(x.Detail, "Single quotes") {
		return x.Detail
	}
	return ours
}

// syntax takes over the parser's diagnostics: one a place, since what follows
// there is about the same slip. Their details are about form; the parser has no
// values yet.
func (d *decoder) syntax(diags hcl.Diagnostics) {
	quotes, places := false, map[hcl.Pos]bool{}
	for _, x := range diags {
		if len(d.diags) == maxSyntax {
			break
		}
		r := hcl.Range{Filename: d.doc.name, Start: hcl.InitialPos, End: hcl.InitialPos}
		if x.Subject != nil {
			r = *x.Subject
		}
		// A quote that is not closed makes every line after it wrong.
		unclosed := x.Summary == "Invalid multi-line string"
		if places[r.Start] || unclosed && quotes {
			continue
		}
		places[r.Start], quotes = true, quotes || unclosed
		d.problem(r, x.Summary, wording(x))
	}
}
