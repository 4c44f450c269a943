package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/plugintest"
)

// TestAcceptance runs the program against the suite, with a file that grows.
// Its first line is blank, so that it is known which file it is before it
// holds a record.
func TestAcceptance(t *testing.T) {
	plugintest.Source(t, plugintest.SourceConfig{
		Binary: build(t), Carries: asLine,
		Service: func(t testing.TB) plugintest.Service {
			dir := t.TempDir()
			file := filepath.Join(dir, "a.ndjson")
			if err := os.WriteFile(file, []byte("\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			return plugintest.Service{
				Settings:    fmt.Sprintf(settings, dir),
				Unreachable: fmt.Sprintf(settings, filepath.Join(dir, "nowhere")),
				Produce:     func(_ sdk.Stream, recs ...frame.Record) error { return appendTo(file, recs) },
			}
		},
		Invalid: []string{
			`{}`,
			`{"cluster":"","path":"/tmp"}`,
			`{"cluster":"c","path":"/tmp","pattern":"/a"}`,
			`{"cluster":"c","path":"/tmp","pattern":"[a"}`,
			`{"cluster":"c","path":"/tmp","format":"xml"}`,
		},
	})
}

const settings = `{"cluster":"c","path":%q,"format":"ndjson","poll_interval":"20ms"}`

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "twg-plugin-file-source")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// asLine is what a line can hold of a record.
func asLine(r frame.Record) frame.Record {
	value := bytes.ReplaceAll(r.Value, []byte("\n"), []byte("~"))
	if len(value) == 0 {
		value = []byte("-")
	}
	return frame.Record{Position: r.Position, Value: value}
}

func appendTo(file string, recs []frame.Record) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var text bytes.Buffer
	for _, r := range recs {
		text.Write(r.Value)
		text.WriteByte('\n')
	}
	_, err = f.Write(text.Bytes())
	return err
}
