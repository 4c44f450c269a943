package main

import (
	"bufio"
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
	bin := filepath.Join(t.TempDir(), "twg-plugin-jsonl")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plugintest.Sink(t, plugintest.SinkConfig{Binary: bin, Target: newTarget, Break: takeAway, Invalid: []string{`{"path":""}`, `{"path":7}`}})
}

func newTarget(t testing.TB) plugintest.Target {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	return plugintest.Target{
		Settings: fmt.Sprintf(`{"path":%q}`, path),
		ReadBack: func() ([]plugintest.Row, error) { return readBack(path) },
		Touched:  func() bool { _, err := os.Stat(path); return err == nil },
	}
}

func readBack(path string) (out []plugintest.Row, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	in := bufio.NewReader(bytes.NewReader(b))
	for err == nil {
		var text []byte
		if text, err = in.ReadBytes('\n'); err != nil {
			break // half a line is no row
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, err
		}
		out = append(out, plugintest.Row{Topic: l.Topic, Partition: l.Partition, Record: l.Record})
	}
	return out, nil
}

// takeAway moves the file's directory away.
func takeAway(t testing.TB, target plugintest.Target) (repair func()) {
	var set jsonl
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
