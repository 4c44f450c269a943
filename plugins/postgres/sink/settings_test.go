package sink

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// TestDocumented: the page's table has each setting with its default.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/plugins/postgres.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range New().Describe().Schema {
		if line := settingLine(a); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/plugins/postgres.md lacks the line\n%s", line)
		}
	}
}

// settingLine is a setting's row in the page's table.
func settingLine(a sdk.Attribute) string {
	must := "required"
	if !a.Required {
		var v any
		if json.Unmarshal([]byte(a.Default), &v) != nil {
			v = a.Default
		}
		must = fmt.Sprintf("`%v`", v)
		if n, ok := v.(float64); ok {
			must = fmt.Sprintf("`%d`", int(n))
		}
	}
	return fmt.Sprintf("| `%s` | %s | %s |", a.Name, must, a.Doc)
}

func TestConfigure(t *testing.T) {
	for text, problems := range map[string][]string{
		`{"dsn":"postgres://u:p@h/d","table":"raw"}`: nil,
		`{"dsn":"host=a,b port=1,2 dbname=d","table":"s.raw","create_table":false,"store_schema":"x y","connections":4,"max_tx_rows":1,"max_tx_bytes":"1MiB","linger":"0s","statement_timeout":"0s"}`: nil,
		`{}`: {"dsn", "table"},
		`{"dsn":"postgres://u:sesame@h:port/d","table":"raw"}`:                               {"dsn"},
		`{"dsn":"host=h password=sesame port=x","table":"a.b.c"}`:                            {"dsn", "table"},
		`{"dsn":"postgres://h/d","table":"\"raw\"","store_schema":"\"x\""}`:                  {"table", "store_schema"},
		`{"dsn":"postgres://h/d","table":"` + strings.Repeat("x", 64) + `"}`:                 {"table"},
		`{"dsn":"postgres://h/d","table":".raw"}`:                                            {"table"},
		`{"dsn":"postgres://h/d","table":"raw","connections":0,"linger":"1m","tabel":"raw"}`: {"tabel", "connections", "linger"},
	} {
		caps, diags := New().Configure(sdk.NewSettings([]byte(text)))
		var paths []string
		for _, d := range diags {
			paths = append(paths, strings.Join(d.Path, "."))
			if strings.Contains(d.Summary+d.Detail, "sesame") {
				t.Errorf("%s: a password stands in %+v", text, d)
			}
		}
		if len(problems) != len(paths) || len(problems) > 0 && !reflect.DeepEqual(paths, problems) {
			t.Errorf("%s: problems at %v, want %v", text, paths, problems)
		}
		if len(problems) == 0 && !(caps.Durable && caps.OffsetStore && caps.Fencing && caps.Idempotent && caps.Replayable && !caps.AppendOnly && !caps.HoldsUntilClose) {
			t.Errorf("%s: capabilities %+v", text, caps)
		}
		if strings.Contains(fmt.Sprint(caps.Targets), "u:p") {
			t.Errorf("a target names the password: %v", caps.Targets)
		}
	}
}
