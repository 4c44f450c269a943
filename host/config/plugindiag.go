package config

import (
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/twg-io/twg/sdk"
)

// FromPlugin puts a plugin's own diagnostics where the settings stand that
// they are about.
func (s *Settings) FromPlugin(ds sdk.Diagnostics) Diagnostics {
	var out Diagnostics
	for _, d := range ds {
		out = append(out, s.doc.fromPlugin(s.locate(d.Path), d))
	}
	return out
}

// locate is the tightest range that the path leads to.
func (s *Settings) locate(path []string) hcl.Range {
	if len(path) == 0 {
		return s.def
	}
	a, ok := s.body.Attributes[path[0]]
	if !ok {
		return s.def
	}
	return descend(a.Expr, path[1:]).Range()
}

// descend follows a path through literal lists and objects, as far as it goes.
func descend(expr hclsyntax.Expression, path []string) hclsyntax.Expression {
	for _, step := range path {
		next := element(expr, step)
		if next == nil {
			break
		}
		expr = next
	}
	return expr
}

func element(expr hclsyntax.Expression, step string) hclsyntax.Expression {
	switch x := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(x.Exprs) {
			return x.Exprs[i]
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range x.Items {
			if hcl.ExprAsKeyword(item.KeyExpr) == step || literalKey(item.KeyExpr) == step {
				return item.ValueExpr
			}
		}
	}
	return nil
}

func literalKey(expr hclsyntax.Expression) string {
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() || !v.IsKnown() || v.IsMarked() {
		return ""
	}
	return v.AsString()
}
