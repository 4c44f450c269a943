package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// spot is a value inside a setting: where it stands and what it is called.
type spot struct {
	expr hclsyntax.Expression
	name string
}

// shape reports everything about v that does not fit the type, each where it
// stands, and whether all of it fits. cty's own conversion would leave out what
// an object does not know, and with it a setting that was misspelt.
func (c *settingsCheck) shape(at spot, v cty.Value, want cty.Type) bool {
	if v.IsNull() || !v.IsKnown() {
		return true
	}
	t := v.Type()
	named, listed := t.IsObjectType() || t.IsMapType(), t.IsTupleType() || t.IsListType() || t.IsSetType()
	switch {
	case want.IsObjectType() && named:
		return c.object(at, v.AsValueMap(), want)
	case want.IsMapType() && named:
		return c.each(at, v.AsValueMap(), func(string) cty.Type { return want.ElementType() })
	case (want.IsListType() || want.IsSetType()) && listed:
		elements := map[string]cty.Value{}
		for i, e := range v.AsValueSlice() {
			elements[strconv.Itoa(i)] = e
		}
		return c.each(at, elements, func(string) cty.Type { return want.ElementType() })
	}
	if _, err := convert.Convert(v, want); err != nil {
		c.problem(at.expr.Range(), "Wrong type", fmt.Sprintf("%q must be %s.", at.name, typeName(want)))
		return false
	}
	return true
}

func (c *settingsCheck) object(at spot, given map[string]cty.Value, want cty.Type) bool {
	known := slices.Sorted(maps.Keys(want.AttributeTypes()))
	var misspelt []string
	ok := true
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if want.HasAttribute(name) {
			continue
		}
		ok = false
		misspelt = append(misspelt, closest(name, known))
		if r, literal := keyRange(at.expr, name); literal {
			c.problem(r, "Unknown setting", fmt.Sprintf("%q has no setting %q. %s", at.name, name, didYouMean(name, known)))
		} else {
			c.problem(at.expr.Range(), "Unknown setting", fmt.Sprintf("%q has settings %s, and no others.", at.name, strings.Join(known, ", ")))
		}
		delete(given, name)
	}
	for _, name := range known {
		if v, there := given[name]; (!there || v.IsNull()) && !want.AttributeOptional(name) {
			ok = false
			if !slices.Contains(misspelt, name) {
				c.problem(at.expr.Range(), "Missing setting", fmt.Sprintf("%q needs %q.", at.name, name))
			}
		}
	}
	return c.each(at, given, want.AttributeType) && ok
}

// each looks into the elements of a value.
func (c *settingsCheck) each(at spot, elements map[string]cty.Value, want func(string) cty.Type) bool {
	ok := true
	for _, step := range slices.Sorted(maps.Keys(elements)) {
		inner := spot{at.expr, at.name}
		// A name that is not there literally may be a secret.
		if e := element(at.expr, step); e != nil {
			inner = spot{e, at.name + "." + step}
		}
		ok = c.shape(inner, elements[step], want(step)) && ok
	}
	return ok
}

// keyRange is where a name stands literally in an object.
func keyRange(expr hclsyntax.Expression, name string) (hcl.Range, bool) {
	x, ok := expr.(*hclsyntax.ObjectConsExpr)
	if !ok {
		return hcl.Range{}, false
	}
	for _, item := range x.Items {
		if hcl.ExprAsKeyword(item.KeyExpr) == name || literalKey(item.KeyExpr) == name {
			return item.KeyExpr.Range(), true
		}
	}
	return hcl.Range{}, false
}
