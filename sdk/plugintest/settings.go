package plugintest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// Documented checks that a page has a table's row for each setting: its name,
// its default (or "required") and its doc.
func Documented(t testing.TB, page string, schema []sdk.Attribute) {
	t.Helper()
	for _, a := range schema {
		if row := settingRow(a); !strings.Contains(page, row+"\n") {
			t.Errorf("the page lacks the line\n%s", row)
		}
	}
}

func settingRow(a sdk.Attribute) string {
	value := ""
	switch {
	case a.Required:
		value = "required"
	case a.Default != "":
		value = "`" + plainDefault(a.Default) + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s |", a.Name, value, a.Doc)
}

// plainDefault writes a default as people do, without JSON's quotes.
func plainDefault(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	if n, ok := v.(float64); ok && n == float64(int64(n)) {
		return fmt.Sprint(int64(n))
	}
	return fmt.Sprint(v)
}

// Settings configures a fresh plugin with each of the settings, JSON objects,
// and compares where its diagnostics are: the paths of settings, with dots, in
// any order. accepted looks at the capabilities of what has no error, and says
// what is wrong with them; empty: nothing. No diagnostic may hold a secret, one
// of the texts in secrets.
func Settings(t testing.TB, fresh func() sdk.Plugin, cases map[string][]string, accepted func(sdk.Capabilities) string, secrets ...string) {
	t.Helper()
	for text, want := range cases {
		caps, diags := fresh().Configure(sdk.NewSettings([]byte(text)))
		got := []string{}
		for _, d := range diags {
			got = append(got, strings.Join(d.Path, "."))
			if d.Summary == "" || d.Detail == "" || slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(d.Summary+d.Detail, s) }) {
				t.Errorf("%s: the diagnostic %+v says too little or too much", text, d)
			}
		}
		slices.Sort(got)
		if want := slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
			t.Errorf("%s: diagnostics at %q, want %q", text, got, want)
		}
		if wrong := accepted(caps); !diags.HasErrors() && wrong != "" {
			t.Errorf("%s: %s: %+v", text, wrong, caps)
		}
	}
}
