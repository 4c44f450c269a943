package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toDiagnostic(d sdk.Diagnostic) *twgpb.Diagnostic {
	return &twgpb.Diagnostic{Warning: d.Severity == sdk.SeverityWarning, Path: each(d.Path, text), Summary: text(d.Summary), Detail: text(d.Detail)}
}

func fromDiagnostic(d *twgpb.Diagnostic) sdk.Diagnostic {
	out := sdk.Diagnostic{Severity: sdk.SeverityError, Path: d.Path, Summary: d.Summary, Detail: d.Detail}
	if d.Warning {
		out.Severity = sdk.SeverityWarning
	}
	return out
}
