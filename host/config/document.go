package config

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/twg-io/twg/sdk"
)

// document is a file's text with what may be shown of it.
type document struct {
	name    string
	src     []byte
	tokens  []maskable
	visible []hcl.Range
	secrets *Secrets
}

func newDocument(name string, src []byte, tokens ...hclsyntax.Token) *document {
	return &document{name: name, src: src, tokens: markValues(tokens), secrets: &Secrets{}}
}

// show says that the range holds no secret.
func (d *document) show(r hcl.Range) { d.visible = append(d.visible, r) }

func (d *document) errorAt(r hcl.Range, summary, detail string) Diagnostic {
	return d.diagnostic(severityError, r, summary, detail)
}

func (d *document) warningAt(r hcl.Range, summary, detail string) Diagnostic {
	return d.diagnostic(severityWarning, r, summary, detail)
}

func (d *document) diagnostic(severity string, r hcl.Range, summary, detail string) Diagnostic {
	x := Diagnostic{
		Severity: severity, Summary: d.secrets.Hide(summary), Detail: d.secrets.Hide(detail), File: d.name,
		Line: r.Start.Line, Column: r.Start.Column, EndLine: r.End.Line, EndColumn: r.End.Column,
	}
	x.Snippet, x.MarkFrom, x.MarkTo = d.snippet(r)
	return x
}

func (d *document) fromPlugin(r hcl.Range, p sdk.Diagnostic) Diagnostic {
	if p.Severity == sdk.SeverityWarning {
		return d.warningAt(r, p.Summary, p.Detail)
	}
	return d.errorAt(r, p.Summary, p.Detail)
}
