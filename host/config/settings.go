package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/twg-io/twg/sdk"
)

// Settings is a config block that has not been checked yet.
type Settings struct {
	doc  *document
	body *hclsyntax.Body
	ctx  *hcl.EvalContext
	def  hcl.Range
}

// CheckSettings holds a config block against its plugin's schema. The settings
// may be given to the plugin only if there is no error; they hold secrets.
func CheckSettings(s *Settings, schema []sdk.Attribute) (sdk.Settings, Diagnostics) {
	c := settingsCheck{Settings: s, out: map[string]json.RawMessage{}}
	for _, b := range s.body.Blocks {
		c.problem(b.TypeRange, "Unexpected block", fmt.Sprintf("Plugin settings are attributes. Write %s = { ... }.", b.Type))
	}
	c.unknown(schema)
	for _, a := range schema {
		c.attribute(a)
	}
	text, err := json.Marshal(c.out)
	if err != nil {
		c.problem(s.def, "Settings cannot be sent", err.Error())
	}
	c.diags.Sort()
	return sdk.NewSettings(text), c.diags
}

type settingsCheck struct {
	*Settings
	out   map[string]json.RawMessage
	diags Diagnostics
	// misspelt are settings that are there under a wrong name.
	misspelt []string
}

func (c *settingsCheck) problem(r hcl.Range, summary, detail string) {
	c.diags = append(c.diags, c.doc.errorAt(r, summary, detail))
}

func (c *settingsCheck) unknown(schema []sdk.Attribute) {
	var known []string
	for _, a := range schema {
		known = append(known, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.body.Attributes)) {
		if !slices.Contains(known, name) {
			c.problem(c.body.Attributes[name].NameRange, "Unknown setting",
				fmt.Sprintf("The plugin has no setting %q. %s", name, didYouMean(name, known)))
			c.misspelt = append(c.misspelt, closest(name, known))
		}
	}
}

// attribute checks one setting and puts it into the settings.
func (c *settingsCheck) attribute(a sdk.Attribute) {
	want, err := ctyjson.UnmarshalType([]byte(a.Type))
	if err != nil {
		c.problem(c.def, "Plugin with a broken schema", fmt.Sprintf("Its setting %q has a type that cannot be read: %v. Use another version of the plugin.", a.Name, err))
		return
	}
	got, ok := c.body.Attributes[a.Name]
	if !ok {
		c.require(a, c.def)
		return
	}
	if !a.Sensitive {
		c.doc.show(got.Expr.Range())
	}
	v, ok := evaluator{c.doc, c.ctx, c.problem}.eval(got.Expr)
	if !ok {
		return
	}
	v, marks := v.UnmarkDeepWithPaths()
	if a.Sensitive && len(marks) == 0 {
		c.doc.secrets.addAll(v)
	}
	c.convert(a, got, v, want)
}

func (c *settingsCheck) require(a sdk.Attribute, r hcl.Range) {
	if a.Required && !slices.Contains(c.misspelt, a.Name) {
		detail := fmt.Sprintf("The plugin needs %q: %s.", a.Name, strings.TrimSuffix(a.Doc, "."))
		if a.Sensitive {
			detail += fmt.Sprintf(" Keep it out of the file: %s = env(\"...\").", a.Name)
		}
		c.problem(r, "Missing setting", detail)
	}
}

func (c *settingsCheck) convert(a sdk.Attribute, got *hclsyntax.Attribute, v cty.Value, want cty.Type) {
	if !c.shape(spot{got.Expr, a.Name}, v, want) {
		return
	}
	converted, err := convert.Convert(v, want)
	if err != nil { // types that do not fit together, such as a list's elements
		c.problem(got.Expr.Range(), "Wrong type", fmt.Sprintf("%q must be %s.", a.Name, typeName(want)))
		return
	}
	if converted.IsNull() {
		c.require(a, got.Expr.Range())
		return
	}
	if !converted.IsWhollyKnown() {
		c.problem(got.Expr.Range(), "No value", "The value cannot be known before the pipeline runs.")
		return
	}
	text, err := ctyjson.Marshal(converted, want)
	if err != nil {
		c.problem(got.Expr.Range(), "Value cannot be sent", fmt.Sprintf("Write %s here.", typeName(want)))
		return
	}
	c.out[a.Name] = text
}

// addAll remembers every string inside v.
func (s *Secrets) addAll(v cty.Value) {
	_ = cty.Walk(v, func(_ cty.Path, e cty.Value) (bool, error) {
		if e.Type() == cty.String && e.IsKnown() && !e.IsNull() {
			s.add(e.AsString())
		}
		return true, nil
	})
}
