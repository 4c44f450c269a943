package plugintest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// reports is a testing.TB that keeps what it is told.
type reports struct {
	testing.TB
	said []string
}

func (*reports) Helper() {}
func (r *reports) Errorf(form string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(form, args...))
}

type greeter struct {
	set struct {
		Name  string        `twg:"name,required" validate:"min=2" doc:"whom to greet"`
		Times int           `twg:"times" default:"1000000" doc:"how often"`
		Every time.Duration `twg:"every" default:"10s" doc:"how long between"`
		Tags  []string      `twg:"tags" doc:"labels"`
	}
}

func (g *greeter) Describe() sdk.Description {
	return sdk.Description{Schema: sdk.SchemaOf(g.set)}
}

func (g *greeter) Configure(s sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	diags := s.Decode(&g.set)
	if g.set.Name == "sesame" {
		diags.Errorf("name", "Not a name", "sesame is a password.")
	}
	return sdk.Capabilities{Durable: g.set.Times > 1}, diags
}

func TestDocumentedFindsWhatAPageLacks(t *testing.T) {
	const page = "| `name` | required | whom to greet |\n| `times` | `1000000` | how often |\n| `tags` |  | labels |\n"
	r := &reports{}
	Documented(r, page+"| `every` | `10s` | how long between |\n", (&greeter{}).Describe().Schema)
	if len(r.said) > 0 {
		t.Errorf("of a page that has all: %q", r.said)
	}
	Documented(r, page+"| `every` | `9s` | how long between |\n", (&greeter{}).Describe().Schema)
	if len(r.said) != 1 || !strings.Contains(r.said[0], "| `every` | `10s` |") {
		t.Errorf("of a page with another default: %q", r.said)
	}
}

func TestSettingsFindsWhatAPluginGetsWrong(t *testing.T) {
	durable := func(c sdk.Capabilities) string {
		if !c.Durable {
			return "not durable"
		}
		return ""
	}
	for name, c := range map[string]struct {
		text string
		at   []string
		want string // of the report; empty: none
	}{
		"all right":      {`{"name":"Ann"}`, nil, ""},
		"refused":        {`{"name":"","times":"x"}`, []string{"times", "name"}, ""},
		"accepted":       {`{"name":"Ann"}`, []string{"name"}, "diagnostics at []"},
		"elsewhere":      {`{}`, []string{"times"}, `diagnostics at ["name"]`},
		"capabilities":   {`{"name":"Ann","times":1}`, nil, "not durable"},
		"tells a secret": {`{"name":"sesame"}`, []string{"name"}, "too much"},
	} {
		r := &reports{}
		Settings(r, func() sdk.Plugin { return &greeter{} }, map[string][]string{c.text: c.at}, durable, "sesame")
		if got := strings.Join(r.said, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
	}
}
