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
	caps, diags := New(nil).Configure(sdk.NewSettings([]byte(`{"cluster":"c","path":"/nowhere"}`)))
	if len(diags) > 0 || caps.Position != sdk.PositionStore || caps.Origin != sdk.OriginReplayable {
		t.Errorf("%+v, %v", caps, diags)
	}
}

func TestDiagnostics(t *testing.T) {
	const good = `{"cluster":"c","path":"/p"%s}`
	for _, c := range []struct{ settings, paths string }{
		{`{}`, "cluster path"},
		{fmt.Sprintf(good, `,"pattern":"/a"`), "pattern"},
		{fmt.Sprintf(good, `,"pattern":"a/../b"`), "pattern"},
		{fmt.Sprintf(good, `,"pattern":"[a"`), "pattern"},
		{fmt.Sprintf(good, `,"path":"a\u0000b"`), "path"},
		{fmt.Sprintf(good, `,"key":"id"`), "key"},
		{fmt.Sprintf(good, `,"format":"ndjson","key":"/a~2"`), "key"},
		{fmt.Sprintf(good, `,"format":"ndjson","key":"/a~1"`), ""},
		{fmt.Sprintf(good, `,"format":"csv","header":false,"key":"id"`), "key"},
		{fmt.Sprintf(good, `,"format":"csv","header":false,"key":"2"`), ""},
		{fmt.Sprintf(good, `,"format":"csv","header":false,"csv_as":"json"`), "csv_as"},
		{fmt.Sprintf(good, `,"format":"csv","delimiter":"\""`), "delimiter"},
		{fmt.Sprintf(good, `,"format":"csv","delimiter":"\t"`), ""},
		{fmt.Sprintf(good, `,"poll_interval":"1ms","readers":0,"last_line":"x"`), "last_line poll_interval readers"},
	} {
		_, diags := New(nil).Configure(sdk.NewSettings([]byte(c.settings)))
		var paths []string
		for _, d := range diags {
			paths = append(paths, strings.Join(d.Path, "."))
			if d.Summary == "" || d.Detail == "" {
				t.Errorf("%+v says too little", d)
			}
		}
		slices.Sort(paths)
		if got := strings.Join(paths, " "); got != c.paths {
			t.Errorf("%s: at %q, want %q: %v", c.settings, got, c.paths, diags)
		}
	}
}

func TestOpenWithoutConfigure(t *testing.T) {
	if _, err := New(nil).Open(t.Context(), newHost(t)); sdk.KindOf(err) != sdk.KindFatal {
		t.Errorf("open before configure: %v, want it fatal", err)
	}
}

// TestDocumented: the page's table has each setting with its default.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/file-source.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range New(nil).Describe().Schema {
		if line := settingLine(a); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/plugins/file-source.md lacks the line\n%s", line)
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
