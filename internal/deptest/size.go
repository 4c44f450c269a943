package deptest

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const (
	maxFileLines = 500
	maxFuncLines = 60
)

// drawers are names that say nothing of what is inside.
var drawers = oneOf("util", "utils", "common", "helper", "helpers", "misc", "shared")

// style lists what is wrong with a file that people write.
func style(f *file) []string {
	if f.generated {
		return nil
	}
	var out []string
	if f.lines > maxFileLines {
		out = append(out, fmt.Sprintf("%s has %d lines, more than %d", f.name, f.lines, maxFileLines))
	}
	if base := path.Base(f.pkg); drawers(base) || drawers(strings.TrimSuffix(f.ast.Name.Name, "_test")) {
		out = append(out, fmt.Sprintf("%s: a package named %s or %s holds anything", f.name, base, f.ast.Name.Name))
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if problem := nodeStyle(f, n); problem != "" {
			out = append(out, fmt.Sprintf("%s: %s", f.fset.Position(n.Pos()), problem))
		}
		return true
	})
	return out
}

func nodeStyle(f *file, n ast.Node) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if lines := f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1; lines > maxFuncLines {
			return fmt.Sprintf("%s has %d lines, more than %d", n.Name.Name, lines, maxFuncLines)
		}
	case *ast.StructType:
		if hasField(n, "Context") && !hasField(n, "CancelFunc") && !hasField(n, "CancelCauseFunc") {
			return "a context is passed, never stored; only what ends it itself may hold its own"
		}
	case *ast.CallExpr:
		if f.test && isSelector(n.Fun, "t", "Skip", "Skipf", "SkipNow") {
			return "a test that is left out proves nothing"
		}
		if f.test && isSelector(n.Fun, "time", "Sleep") && !f.maySleep(n) {
			return "a test waits for something: it polls in a loop or runs in a synctest bubble"
		}
	case *ast.GoStmt:
		if (f.pkg == "host/ackgate" || f.pkg == "host/flow") && !f.test {
			return "the gate and the machines of flow control have no goroutines"
		}
	}
	return ""
}

// maySleep: time is not real in a file that uses synctest, and in a loop a
// sleep is between two looks at a condition.
func (f *file) maySleep(call *ast.CallExpr) bool {
	if slices.Contains(f.imports, "testing/synctest") {
		return true
	}
	found := false
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if loop, ok := n.(*ast.ForStmt); ok && loop.Pos() < call.Pos() && call.End() < loop.End() {
			found = true
		}
		return !found
	})
	return found
}

// hasField reports whether s has a field of type context.name.
func hasField(s *ast.StructType, name string) bool {
	for _, field := range s.Fields.List {
		if isSelector(field.Type, "context", name) {
			return true
		}
	}
	return false
}

// isSelector reports whether e is x.name for one of names.
func isSelector(e ast.Expr, x string, names ...string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, sel.Sel.Name) {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == x
}
