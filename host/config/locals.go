package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// readLocals evaluates all locals blocks. A local may use others, in any
// order.
func (d *decoder) readLocals(body *hclsyntax.Body) {
	r := localsReader{decoder: d, attrs: map[string]*hclsyntax.Attribute{}, state: map[string]localState{}}
	d.locals = map[string]cty.Value{}
	for _, b := range body.Blocks {
		if b.Type == "locals" {
			r.block(b)
		}
	}
	for name := range r.attrs {
		d.locals[name] = cty.DynamicVal
	}
	for _, name := range slices.Sorted(maps.Keys(r.attrs)) {
		r.resolve(name)
	}
}

type localState uint8

const (
	localNew localState = iota
	localOpen
	localDone
)

type localsReader struct {
	*decoder
	attrs map[string]*hclsyntax.Attribute
	state map[string]localState
}

func (r *localsReader) block(b *hclsyntax.Block) {
	r.labels(b)
	for _, inner := range b.Body.Blocks {
		r.problem(inner.TypeRange, "Unknown block", "A locals block has only attributes: name = value.")
	}
	for name, a := range b.Body.Attributes {
		if first, twice := r.attrs[name]; twice {
			later := a
			if first.SrcRange.Start.Byte > a.SrcRange.Start.Byte {
				later = first
			}
			r.problem(later.NameRange, "Local defined twice", fmt.Sprintf("There is another local %q. Give each its own name.", name))
		}
		r.attrs[name] = a
	}
}

// resolve evaluates what the local uses, then the local. One that is wrong
// stays unknown, and what uses it says nothing.
func (r *localsReader) resolve(name string) {
	a, ok := r.attrs[name]
	if !ok || r.state[name] == localDone {
		return
	}
	if r.state[name] == localOpen {
		r.state[name] = localDone
		r.problem(a.NameRange, "Locals in a circle", fmt.Sprintf("The local %q uses itself, by way of others. Break the circle.", name))
		return
	}
	r.state[name] = localOpen
	for _, t := range a.Expr.Variables() {
		if used := localName(t); used != "" {
			r.doc.show(t.SourceRange())
			r.resolve(used)
		}
	}
	if r.state[name] == localOpen {
		r.state[name] = localDone
		if v, ok := r.eval(a.Expr); ok {
			r.locals[name] = v
		}
	}
}
