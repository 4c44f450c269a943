package deptest

import (
	"fmt"
	"go/build/constraint"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// notProduct: tags that no product is built with.
func notProduct(tag string) bool { return strings.HasPrefix(tag, "mutant_") || tag == "faults" }

// tagsOf lists the tags of e that no product is built with.
func tagsOf(e constraint.Expr) []string {
	var out []string
	if e == nil {
		return nil
	}
	e.Eval(func(tag string) bool { // it asks for every tag
		if notProduct(tag) && !slices.Contains(out, tag) {
			out = append(out, tag)
		}
		return true
	})
	return out
}

// side says which half of a mutant a file is: "product" is built without the
// tag only, "mutant" with it only.
func side(f *file, tag string) string {
	with := f.tags.Eval(func(x string) bool { return x == tag || !notProduct(x) })
	without := f.tags.Eval(func(x string) bool { return !notProduct(x) })
	switch {
	case with && !without:
		return "mutant"
	case without && !with:
		return "product"
	}
	return fmt.Sprintf("neither half of it (%s)", f.tags)
}

// TestMutantsAreNotInTheProduct: every file that knows a mutant's tag is built
// either with it or without it, a mutant takes something of the product's place, and nothing that
// is built without tags is a mutant.
func TestMutantsAreNotInTheProduct(t *testing.T) {
	halves := map[string][]string{}
	for _, f := range loadModule(t) {
		for _, tag := range tagsOf(f.tags) {
			s := side(f, tag)
			if s != "product" && s != "mutant" {
				t.Errorf("%s is %s of %s", f.name, s, tag)
			}
			if !f.test {
				halves[f.pkg+" "+tag] = append(halves[f.pkg+" "+tag], s)
			}
		}
		if strings.Contains(f.name, "mutant_") && !strings.HasSuffix(f.name, "mutant_off.go") && len(tagsOf(f.tags)) == 0 {
			t.Errorf("%s has no mutant's tag: it is in the product", f.name)
		}
	}
	for at, have := range halves {
		if strings.Contains(at, " mutant_") && !slices.Contains(have, "product") {
			t.Errorf("%s: there is %v and no product", at, have)
		}
	}
	if len(halves) == 0 {
		t.Error("no mutant was found")
	}
}

// TestNoTagIsOn: these tests, as they are built now, are tests of the product.
func TestNoTagIsOn(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		t.Fatal("this test does not know how it was built")
	}
	for _, s := range info.Settings {
		if s.Key != "-tags" {
			continue
		}
		for tag := range strings.SplitSeq(s.Value, ",") {
			if notProduct(tag) {
				t.Errorf("built with tag %s", tag)
			}
		}
	}
}
