package source

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

func TestConfigure(t *testing.T) {
	for resume, origin := range map[bool]sdk.Origin{false: sdk.OriginNonReplayable, true: sdk.OriginResumable} {
		caps, diags := New(nil).Configure(sdk.NewSettings(fmt.Appendf(nil, `{"cluster":"c","stream":"s","listen":"127.0.0.1:1","resume":%t}`, resume)))
		if len(diags) > 0 || caps.Position != sdk.PositionStore || caps.Origin != origin {
			t.Errorf("resume %t: %+v, %v", resume, caps, diags)
		}
	}
}

func TestDiagnostics(t *testing.T) {
	const good = `{"cluster":"c","stream":"s","listen":%q%s}`
	for _, c := range []struct {
		listen, more, paths string
		warning             bool
	}{
		{"127.0.0.1:9", "", "", true},
		{"[::1]:9", "", "", true},
		{"localhost:9", "", "", true},
		{"unix:/run/x", "", "", true},
		{"127.0.0.1:0", "", "listen", false},
		{"127.0.0.1", "", "listen", false},
		{":9", "", "listen", false},
		{"example.com:9", "", "listen", false},
		{"10.0.0.1:9", `,"allow_remote":true`, "allow_remote", true},
		{"unix:", "", "listen", false},
		{"unix:@x", "", "listen", false},
		{"unix:/x", `,"tls":{"cert":"a","key":"b"}`, "tls", false},
		{"127.0.0.1:9", `,"tls":{"cert":"a","key":"hush"}`, "tls", false},
		{"127.0.0.1:9", `,"unix_mode":"0999"`, "unix_mode", false},
	} {
		_, diags := New(nil).Configure(sdk.NewSettings(fmt.Appendf(nil, good, c.listen, c.more)))
		var paths []string
		for _, d := range diags {
			paths = append(paths, strings.Join(d.Path, "."))
			if d.Detail == "" || strings.Contains(d.Summary+d.Detail, "hush") {
				t.Errorf("%+v", d)
			}
		}
		if got := strings.Join(paths, " "); got != c.paths || diags.HasErrors() == c.warning {
			t.Errorf("%s%s: at %q, want %q: %v", c.listen, c.more, got, c.paths, diags)
		}
	}
}

// TestDocumented: the page's table has each setting with its default.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/socket-source.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range slices.Concat(New(nil).Describe().Schema, sdk.SchemaOf(TLS{})) {
		if line := settingLine(a); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/plugins/socket-source.md lacks the line\n%s", line)
		}
	}
}

// settingLine is a setting's row in the page's table.
func settingLine(a sdk.Attribute) string {
	must := ""
	if a.Required {
		must = "required"
	} else if a.Default != "" {
		var v any
		if json.Unmarshal([]byte(a.Default), &v) != nil {
			v = a.Default
		}
		must = fmt.Sprintf("`%v`", v)
	}
	return fmt.Sprintf("| `%s` | %s | %s |", a.Name, must, strings.ReplaceAll(a.Doc, "|", `\|`))
}
