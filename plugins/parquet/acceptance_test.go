package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/plugintest"
)

// TestAcceptance holds the sink to the protocol.
func TestAcceptance(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "twg-plugin-parquet")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	plugintest.Sink(t, plugintest.SinkConfig{Binary: bin, Target: newTarget, Break: takeAway,
		Invalid: []string{`{"dir":""}`, `{"dir":"x","compression":"lzma"}`, `{"dir":"x","max_file_rows":0}`}})
}

func newTarget(t testing.TB) plugintest.Target {
	dir := filepath.Join(t.TempDir(), "lake")
	return plugintest.Target{
		Settings: fmt.Sprintf(`{"dir":%q}`, dir),
		ReadBack: func() ([]plugintest.Row, error) { return readBack(dir) },
		Touched:  func() bool { _, err := os.Stat(dir); return err == nil },
	}
}

func readBack(dir string) (out []plugintest.Row, err error) {
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".parquet" || f.Name()[0] == '.' {
			continue
		}
		rows, err := parquet.ReadFile[rawfile.Row](filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		for _, r := range rows {
			out = append(out, rowOf(r))
		}
	}
	return out, err
}

func rowOf(r rawfile.Row) plugintest.Row {
	rec := frame.Record{Position: r.Position, TimestampMS: r.TimestampMS, Key: r.Key, Value: r.Value}
	for _, h := range r.Headers {
		rec.Headers = append(rec.Headers, frame.Header{Name: string(h.Name), Value: h.Value})
	}
	return plugintest.Row{Topic: r.Topic, Partition: r.Partition, Record: rec}
}

// takeAway puts a file in the directory's place.
func takeAway(t testing.TB, target plugintest.Target) (repair func()) {
	var dir string
	if _, err := fmt.Sscanf(target.Settings, `{"dir":%q}`, &dir); err != nil {
		t.Fatal(err)
	}
	try := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.Rename(dir, dir+".away"))
	try(os.WriteFile(dir, nil, 0o644))
	return func() {
		try(os.Remove(dir))
		try(os.Rename(dir+".away", dir))
	}
}
