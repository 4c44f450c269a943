package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// eval evaluates an expression and reports what is wrong with it, without a
// value in the report.
func (d *decoder) eval(expr hclsyntax.Expression) (cty.Value, bool) {
	return evaluator{d.doc, d.context(), d.problem}.eval(expr)
}

func (d *decoder) context() *hcl.EvalContext {
	return &hcl.EvalContext{
		Functions: d.functions,
		Variables: map[string]cty.Value{"local": cty.ObjectVal(d.locals)},
	}
}

// evaluator evaluates expressions of one file.
type evaluator struct {
	doc     *document
	ctx     *hcl.EvalContext
	problem func(r hcl.Range, summary, detail string)
}

func (e evaluator) eval(expr hclsyntax.Expression) (cty.Value, bool) {
	showCalls(e.doc, expr)
	if !e.references(expr) {
		return cty.NilVal, false
	}
	v, diags := expr.Value(e.ctx)
	for _, x := range diags {
		if x.Severity == hcl.DiagError {
			e.report(expr, x)
		}
	}
	return v, !diags.HasErrors()
}

// references checks every name before it is used: the parser's own message
// would quote it, and a password without quotes looks like a name.
func (e evaluator) references(expr hclsyntax.Expression) bool {
	ok := true
	for _, t := range expr.Variables() {
		if t.RootName() != "local" {
			ok = false
			e.problem(t.SourceRange(), "Unknown name", `Text needs quotes: "...". The only names are those of locals: local.name.`)
			continue
		}
		e.doc.show(t.SourceRange())
		ok = e.local(t) && ok
	}
	return ok
}

func (e evaluator) local(t hcl.Traversal) bool {
	locals := e.ctx.Variables["local"]
	step, isAttr := hcl.TraverseAttr{}, false
	if len(t) > 1 {
		step, isAttr = t[1].(hcl.TraverseAttr)
	}
	switch {
	case !isAttr:
		e.problem(t.SourceRange(), "Incomplete reference", "Write local.name.")
		return false
	case !locals.Type().HasAttribute(step.Name):
		names := slices.Sorted(maps.Keys(locals.Type().AttributeTypes()))
		e.problem(t.SourceRange(), "Unknown local", fmt.Sprintf("There is no local %q. %s", step.Name, didYouMean(step.Name, names)))
		return false
	}
	// A local that is itself wrong was reported where it stands.
	return locals.GetAttr(step.Name).IsWhollyKnown()
}

// report turns the evaluator's message into ours. Some of HCL's quote what
// was written; those are replaced.
func (e evaluator) report(expr hclsyntax.Expression, x *hcl.Diagnostic) {
	r := expr.Range()
	if x.Subject != nil {
		r = *x.Subject
	}
	if extra, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](x); ok && extra.FunctionCallError() != nil {
		e.problem(r, extra.CalledFunctionName()+"() failed", extra.FunctionCallError().Error())
		return
	}
	switch x.Summary {
	case "Call to unknown function":
		e.problem(r, x.Summary, "The functions are env, file, format and nonsensitive. Text needs quotes.")
	case "Duplicate object key":
		e.problem(r, x.Summary, "Two elements have the same key. Make the keys differ, or group the values with ... after the value.")
	default:
		e.problem(r, x.Summary, x.Detail)
	}
}

// showCalls says that env() and file() with a literal argument hold no secret
// in the text: the name is what a reader needs.
func showCalls(doc *document, expr hclsyntax.Expression) {
	_ = hclsyntax.VisitAll(expr, func(n hclsyntax.Node) hcl.Diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		if !ok {
			return nil
		}
		if slices.Contains([]string{"env", "file", "format", "nonsensitive"}, call.Name) {
			doc.show(call.NameRange)
		}
		if (call.Name == "env" || call.Name == "file") && len(call.Args) > 0 {
			doc.show(call.Args[0].Range())
		}
		return nil
	})
}

// localName is the local that a reference begins with; empty: none.
func localName(t hcl.Traversal) string {
	if t.RootName() != "local" || len(t) < 2 {
		return ""
	}
	step, _ := t[1].(hcl.TraverseAttr)
	return step.Name
}
