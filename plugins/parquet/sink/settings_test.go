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
	page, err := os.ReadFile("../../../docs/plugins/parquet.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range New().Describe().Schema {
		if line := settingLine(a); !strings.Contains(string(page), line+"\n") {
			t.Errorf("docs/plugins/parquet.md lacks the line\n%s", line)
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
		`{"dir":"x"}`: nil,
		`{"dir":"x","create":false,"max_file_bytes":"1GiB","max_file_rows":1,"max_file_age":"1m","compression":"none","compression_level":4,"row_group_rows":1}`: nil,
		`{}`:                               {"dir"},
		`{"dir":"","compression":"gzip"}`:  {"dir", "compression"},
		`{"dir":"x","max_file_rows":0}`:    {"max_file_rows"},
		`{"dir":"x","row_group_rows":-1}`:  {"row_group_rows"},
		`{"dir":"x","max_file_age":"0s"}`:  {"max_file_age"},
		`{"dir":"x","max_file_bytes":"1"}`: {"max_file_bytes"},
		`{"dir":"x","directory":"y"}`:      {"directory"},
	} {
		caps, diags := New().Configure(sdk.NewSettings([]byte(text)))
		var paths []string
		for _, d := range diags {
			paths = append(paths, strings.Join(d.Path, "."))
		}
		if len(problems) != len(paths) || len(problems) > 0 && !reflect.DeepEqual(paths, problems) {
			t.Errorf("%s: problems at %v, want %v", text, paths, problems)
		}
		if len(problems) == 0 && !(caps.Durable && caps.OffsetStore && caps.Fencing && caps.Idempotent && caps.HoldsUntilClose && caps.Replayable && !caps.AppendOnly) {
			t.Errorf("%s: capabilities %+v", text, caps)
		}
	}
}
