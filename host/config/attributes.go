package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// attribute is one attribute of the host: its place in T, its default and what
// may stand there. docs/config.md is checked against these tables.
type attribute[T any] struct {
	name string
	typ  cty.Type
	// def is the value where the file says nothing; empty: none.
	def string
	// set puts the value into T. Its error is a sentence for people that says
	// what to write instead, and holds no value.
	set func(T, cty.Value) error
}

// decodeAttributes puts a body's attributes, or their defaults, into one value
// and returns where each stands. elsewhere explains a name that belongs to
// another place; nil: none does.
func decodeAttributes[T any](d *decoder, body *hclsyntax.Body, where string, table []attribute[T], into T, elsewhere func(string) string) map[string]hcl.Range {
	places := map[string]hcl.Range{}
	for _, a := range table {
		got, ok := body.Attributes[a.name]
		if !ok {
			setDefault(a, into)
			continue
		}
		places[a.name] = got.Range()
		if a.name != tokenName {
			d.doc.show(got.Range())
		}
		if v, ok := d.value(got.Expr, a.typ); ok {
			if err := a.set(into, v); err != nil {
				d.problem(got.Expr.Range(), "Invalid "+a.name, err.Error())
			}
		}
	}
	reportUnknown(d, body, where, table, elsewhere)
	return places
}

func setDefault[T any](a attribute[T], into T) {
	if a.def == "" {
		return
	}
	v, err := convert.Convert(cty.StringVal(a.def), a.typ)
	if err == nil {
		err = a.set(into, v)
	}
	if err != nil {
		panic(fmt.Sprintf("config: default of %s: %v", a.name, err))
	}
}

func reportUnknown[T any](d *decoder, body *hclsyntax.Body, where string, table []attribute[T], elsewhere func(string) string) {
	var known []string
	for _, a := range table {
		known = append(known, a.name)
	}
	for _, name := range slices.Sorted(maps.Keys(body.Attributes)) {
		if slices.Contains(known, name) {
			continue
		}
		detail := ""
		if elsewhere != nil {
			detail = elsewhere(name)
		}
		if detail == "" {
			detail = didYouMean(name, known)
		}
		d.problem(body.Attributes[name].NameRange, "Unknown attribute", fmt.Sprintf("There is no attribute %q %s. %s", name, where, detail))
	}
}

// value evaluates an expression of a host attribute. Such a value is never a
// secret by itself, but env() may stand in it, so it is not shown either.
func (d *decoder) value(expr hclsyntax.Expression, want cty.Type) (cty.Value, bool) {
	v, ok := d.eval(expr)
	if !ok {
		return cty.NilVal, false
	}
	v, _ = v.UnmarkDeep()
	v, err := convert.Convert(v, want)
	switch {
	case err != nil:
		d.problem(expr.Range(), "Wrong type", fmt.Sprintf("Write %s here.", typeName(want)))
		return cty.NilVal, false
	case v.IsNull() || !v.IsWhollyKnown():
		d.problem(expr.Range(), "No value", fmt.Sprintf("Write %s here, or leave the attribute out.", typeName(want)))
		return cty.NilVal, false
	}
	return v, true
}

// typeName is a type for people.
func typeName(t cty.Type) string {
	switch {
	case t == cty.String:
		return "a string"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "true or false"
	case t.IsListType() || t.IsSetType():
		return "a list, each element " + typeName(t.ElementType())
	case t.IsMapType():
		return "a map, each value " + typeName(t.ElementType())
	case t.IsObjectType():
		return "an object { name = value, ... }"
	}
	return "a " + t.FriendlyName()
}
