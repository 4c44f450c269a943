package config

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/twg-io/twg/sdk"
)

var update = flag.Bool("update", false, "write the golden files anew")

// fakePlugins stand for plugins that the golden files use.
var fakePlugins = map[string]struct {
	schema []sdk.Attribute
	caps   sdk.Capabilities
}{
	"queue": {
		schema: []sdk.Attribute{
			{Name: "brokers", Type: `["list","string"]`, Required: true, Doc: "addresses of the servers"},
			{Name: "password", Type: `"string"`, Sensitive: true, Doc: "the user's password"},
			{Name: "limits", Type: `["object",{"bytes":"number","rows":"number"}]`, Doc: "bounds"},
			{Name: "login", Type: `["object",{"user":"string","password":"string","how":"string"},["how"]]`, Sensitive: true, Doc: "who asks"},
			{Name: "hosts", Type: `["map",["object",{"port":"number"}]]`, Doc: "ports by host"},
			{Name: "linger", Type: `"number"`, Doc: "milliseconds"},
			{Name: "group", Type: `"string"`, Doc: "with whom to share"},
		},
		caps: sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable, Renames: true},
	},
	"named":    {caps: sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginReplayable, Topics: []string{"orders", "hunter2-from-env"}}},
	"pipe":     {caps: sdk.Capabilities{Position: sdk.PositionBroker, Origin: sdk.OriginNonReplayable}},
	"resumed":  {caps: sdk.Capabilities{Position: sdk.PositionStore, Origin: sdk.OriginResumable}},
	"assigned": {caps: sdk.Capabilities{Position: sdk.PositionStore, Origin: sdk.OriginReplayable}},
	"lake": {
		schema: []sdk.Attribute{{Name: "dir", Type: `"string"`, Required: true, Doc: "the directory"}},
		caps:   sdk.Capabilities{Durable: true, OffsetStore: true, Shapes: []sdk.Shape{sdk.ShapeRaw}},
	},
	"slow": {
		schema: []sdk.Attribute{
			{Name: "statement_timeout", Type: `"string"`, Default: `"5m"`, Doc: "how long a statement may take"},
			{Name: "connect_timeout", Type: `"string"`, Default: `"5s"`, Doc: "how long to connect"},
			{Name: "secret_timeout", Type: `"string"`, Default: `"9h"`, Sensitive: true, Doc: "nobody's business"},
		},
		caps: sdk.Capabilities{Durable: true, Replayable: true, OffsetStore: true, Shapes: []sdk.Shape{sdk.ShapeRaw}},
	},
	"bare":      {caps: sdk.Capabilities{Durable: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, MaxBatchBytes: 1 << 20}},
	"null":      {caps: sdk.Capabilities{Shapes: []sdk.Shape{sdk.ShapeTable}}},
	"log":       {caps: sdk.Capabilities{Durable: true, AppendOnly: true, Shapes: []sdk.Shape{sdk.ShapeRaw}, MaxBatchBytes: 1 << 20}},
	"cache":     {caps: sdk.Capabilities{Shapes: []sdk.Shape{sdk.ShapeRaw}}},
	"warehouse": {caps: sdk.Capabilities{Durable: true, Shapes: []sdk.Shape{sdk.ShapeTable}}},
	"archive":   {caps: sdk.Capabilities{Durable: true, Replayable: true, Shapes: []sdk.Shape{sdk.ShapeRaw}}},
	"database": {
		schema: []sdk.Attribute{
			{Name: "token", Type: `"string"`, Required: true, Sensitive: true, Doc: "how to log in"},
			{Name: "dir", Type: `"string"`, Doc: "where it lies"},
		},
		caps: sdk.Capabilities{Durable: true, Replayable: true, OffsetStore: true, Shapes: []sdk.Shape{sdk.ShapeRaw}},
	},
}

// check does what the command line does with a file, with fake plugins.
func check(name, text string, env Env) (*Config, Diagnostics) {
	c, diags := Load(name, []byte(text), env)
	var asked []Asked
	for _, p := range c.Pipelines {
		var source *sdk.Capabilities
		if p.Source != nil {
			source = ask(p.Source.Plugin, p.Source.Settings, &diags)
		}
		var sinks []*sdk.Capabilities
		for _, s := range p.Sinks {
			sinks = append(sinks, ask(s.Plugin, s.Settings, &diags))
			schema := fakePlugins[s.Plugin].schema
			settings, _ := CheckSettings(s.Settings, schema)
			diags = append(diags, CheckStuck(p, s, schema, settings)...)
		}
		diags = append(diags, CheckRoles(p, source, sinks)...)
		a := Asked{Pipeline: p, Source: source}
		for i, s := range p.Sinks {
			if s == p.Gate() {
				a.Gate = sinks[i]
			}
		}
		asked = append(asked, a)
	}
	diags = append(diags, CheckTogether(asked)...)
	diags = append(diags, CheckRaws(asked)...)
	diags.Sort()
	return c, diags
}

func ask(name string, s *Settings, diags *Diagnostics) *sdk.Capabilities {
	plugin, ok := fakePlugins[name]
	if !ok {
		return nil
	}
	settings, found := CheckSettings(s, plugin.schema)
	*diags = append(*diags, found...)
	var got struct {
		Brokers []string
		Dir     string
	}
	if json.Unmarshal(settings.JSON(), &got) == nil && len(got.Brokers) > 1 && got.Brokers[1] == "" {
		*diags = append(*diags, s.FromPlugin(sdk.Diagnostics{
			{Severity: sdk.SeverityError, Path: []string{"brokers", "1"}, Summary: "Empty address", Detail: "Write host:port."},
			{Severity: sdk.SeverityWarning, Path: []string{"linger"}, Summary: "No linger", Detail: "The first address is " + got.Brokers[0] + "."},
		})...)
	}
	caps := plugin.caps
	var target struct{ Dir, Group string }
	if json.Unmarshal(settings.JSON(), &target) == nil {
		if target.Dir != "" {
			caps.Targets = []string{"directory " + target.Dir}
		}
		if target.Group != "" {
			caps.Shares = []string{"group " + target.Group}
		}
	}
	return &caps
}

// goldenEnv holds the secrets that no golden output may contain.
func goldenEnv() Env {
	env := map[string]string{"SECRET": "hunter2-from-env", "DIR": "./from-env"}
	return Env{
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		ReadFile: func(path string) ([]byte, error) {
			if path == "secret.txt" || path == "open.txt" {
				return []byte("hunter2-from-file\n"), nil
			}
			return nil, os.ErrNotExist
		},
		Mode: func(path string) (fs.FileMode, error) {
			if path == "open.txt" {
				return 0o644, nil
			}
			return 0o640, nil
		},
	}
}

func TestDiagnostics(t *testing.T) {
	paths, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("golden files: %v, %d found", err, len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { golden(t, path) })
	}
}

func golden(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, diags := check("in.hcl", string(archive.Files[0].Data), goldenEnv())
	var got strings.Builder
	if err := WriteText(&got, diags); err != nil {
		t.Fatal(err)
	}
	if len(diags) == 0 {
		got.WriteString("ok\n")
	}
	if strings.Contains(got.String(), "hunter2") {
		t.Errorf("a secret is shown:\n%s", got.String())
	}
	if *update {
		archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got.String())}}
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want := string(archive.Files[1].Data); got.String() != want {
		t.Errorf("diagnostics differ; go test -run %s -update writes them anew.\n--- got\n%s--- want\n%s", t.Name(), got.String(), want)
	}
}
