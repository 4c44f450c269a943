package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"golang.org/x/tools/txtar"
)

// FuzzLoad: whatever the text, there is an answer, and no diagnostic shows
// what env() or file() gave.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/diagnostics/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("golden files: %v, %d found", err, len(paths))
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(archive.Files[0].Data))
	}
	for _, text := range []string{"", "\x00", "\xff\xfe", "a = \"\xff", "a = <<E\n${\nE", strings.Repeat("a={", 500), "pipeline \"\" \"\" {", "\ufeffx = 1", "x = [\r\n\"a\"\r\n]\r"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		_, diags := check("in.hcl", text, goldenEnv())
		var out strings.Builder
		if err := WriteText(&out, diags); err != nil {
			t.Fatal(err)
		}
		if leaked := strings.Contains(out.String(), "hunter2-from-"); leaked && !strings.Contains(text, "hunter2") {
			t.Errorf("a secret is shown:\n%s", out.String())
		}
	})
}

// FuzzMask: what stands on the right of an equals sign is not shown before it
// is known to be harmless, however broken the rest of the line.
func FuzzMask(f *testing.F) {
	for _, after := range []string{"", "\"", "\n}", "'", " more", "@\x00", "\\", "${", "<<E\n", "]})"} {
		f.Add("\"", after)
		f.Add("", after)
		f.Add("[{(", after)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		const secret = "zqhunterzq"
		if len(before)+len(after) > 1<<10 || strings.ContainsAny(before, "\n\r") {
			return
		}
		src := []byte("password = " + before + secret + after)
		tokens, _ := hclsyntax.LexConfig(src, "in.hcl", hcl.InitialPos)
		doc := newDocument("in.hcl", src, tokens...)
		text, _, _ := doc.snippet(hcl.Range{Start: hcl.InitialPos, End: hcl.InitialPos})
		if strings.Contains(text, secret) {
			t.Errorf("shown: %s", text)
		}
	})
}
