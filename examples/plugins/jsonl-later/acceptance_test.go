package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/twg-io/twg/sdk/plugintest"
)

// TestAcceptance holds the sink to the protocol.
func TestAcceptance(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "twg-plugin-jsonl-later")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plugintest.Sink(t, plugintest.SinkConfig{Binary: bin, Target: newTarget, Break: takeAway, Invalid: []string{`{"path":""}`, `{"path":7}`}})
}

func newTarget(t testing.TB) plugintest.Target {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	return plugintest.Target{
		Settings: fmt.Sprintf(`{"path":%q}`, path),
		ReadBack: func() (out []plugintest.Row, err error) {
			lines, err := readBack(path)
			for _, l := range lines {
				out = append(out, plugintest.Row{Topic: l.Topic, Partition: l.Partition, Record: l.Record})
			}
			return out, err
		},
		Touched: func() bool { _, err := os.Stat(path); return err == nil },
	}
}

// readBack skips what is no whole line.
func readBack(path string) (out []line, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, text := range bytes.Split(b, []byte("\n")) {
		var l line
		if json.Unmarshal(text, &l) == nil {
			out = append(out, l)
		}
	}
	return out, err
}

// takeAway moves the file's directory away.
func takeAway(t testing.TB, target plugintest.Target) (repair func()) {
	var set later
	if err := json.Unmarshal([]byte(target.Settings), &set); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(set.Path)
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	move(dir, dir+".away")
	return func() { move(dir+".away", dir) }
}
