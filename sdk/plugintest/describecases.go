package plugintest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/twg-io/twg/sdk"
)

// described is the clause that both kinds of plugins share: what Describe
// says.
func (b *bench) described(kind sdk.PluginKind) sdk.Description {
	p := b.start(0)
	d := p.Describe()
	switch {
	case d.Name != b.file.Name:
		failf("the plugin calls itself %q; its file is named for %q", d.Name, b.file.Name)
	case d.Kind != kind:
		failf("the plugin is a %s, want a %s", d.Kind, kind)
	case d.Version == "":
		failf("the plugin has no version")
	}
	seen := map[string]bool{}
	for _, a := range d.Schema {
		if seen[a.Name] || a.Name == "" {
			failf("setting %q has no name, or the name of another", a.Name)
		}
		seen[a.Name] = true
		if !json.Valid([]byte(a.Type)) {
			failf("setting %q: type %q is not a cty type in JSON", a.Name, a.Type)
		}
		if a.Default != "" && (!json.Valid([]byte(a.Default)) || a.Required) {
			failf("setting %q: the default %q is not JSON, or the setting is required and needs none", a.Name, a.Default)
		}
	}
	if again := b.start(0).Describe(); !reflect.DeepEqual(again, d) {
		failf("a second process describes itself otherwise: %+v and %+v", d, again)
	}
	return d
}

const secret = "plugintest-secret-7d1f"

// refuses: settings that are wrong are diagnostics, all at once, and show no
// secret.
func (b *bench) refuses(d sdk.Description, valid string, invalid []string) {
	settings := map[string]json.RawMessage{}
	must(json.Unmarshal([]byte(valid), &settings), "read the valid settings")
	unknown := clone(settings)
	unknown["plugintest_unknown"] = json.RawMessage("1")
	invalid = append(append([]string{}, invalid...), encode(unknown))
	for _, a := range d.Schema {
		if a.Required {
			less := clone(settings)
			delete(less, a.Name)
			invalid = append(invalid, encode(less))
		}
		if a.Sensitive {
			shown := clone(settings)
			shown[a.Name] = json.RawMessage(fmt.Sprintf(`{"plugintest":%q}`, secret))
			invalid = append(invalid, encode(shown))
		}
	}
	for _, text := range invalid {
		_, diags := configure(b.start(0), text)
		if !diags.HasErrors() {
			failf("the settings %s are accepted", text)
		}
		for _, x := range diags {
			if x.Summary == "" || x.Detail == "" {
				failf("the settings %s: diagnostic %+v does not say what is wrong and what to do", text, x)
			}
			if strings.Contains(x.Summary+x.Detail, secret) {
				failf("the diagnostic %+v shows a secret", x)
			}
		}
	}
}

func clone(m map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func encode(m map[string]json.RawMessage) string {
	b, err := json.Marshal(m)
	must(err, "write settings")
	return string(b)
}
