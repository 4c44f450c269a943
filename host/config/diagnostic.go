package config

import (
	"cmp"
	"slices"
)

// Diagnostic is one problem. Summary is terse and holds no value; Detail says
// what to do. Neither they nor Snippet hold a secret.
type Diagnostic struct {
	Severity string `json:"severity"` // "error" or "warning"
	Summary  string `json:"summary"`
	Detail   string `json:"detail,omitempty"`
	File     string `json:"file,omitempty"`
	// Lines and columns count from 1; columns count characters.
	Line      int `json:"line,omitempty"`
	Column    int `json:"column,omitempty"`
	EndLine   int `json:"end_line,omitempty"`
	EndColumn int `json:"end_column,omitempty"`
	// Snippet is the source line, with values that may be secret masked.
	Snippet string `json:"snippet,omitempty"`
	// MarkFrom and MarkTo are the characters of Snippet to point at.
	MarkFrom int `json:"-"`
	MarkTo   int `json:"-"`
}

const (
	severityError   = "error"
	severityWarning = "warning"
)

// FileProblem is an error about a file that cannot be looked into.
func FileProblem(file string, err error) Diagnostic {
	return Diagnostic{Severity: severityError, Summary: "File cannot be checked", Detail: err.Error(), File: file}
}

// IsError tells an error from a warning.
func (d Diagnostic) IsError() bool { return d.Severity == severityError }

// Diagnostics are all problems at once.
type Diagnostics []Diagnostic

// HasErrors reports whether there is an error among them.
func (ds Diagnostics) HasErrors() bool { return slices.ContainsFunc(ds, Diagnostic.IsError) }

// Sort puts them into the order of the text.
func (ds Diagnostics) Sort() {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
