package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A signal may come before the plugins have said who they are. That is neither
// the file's fault nor that of its surroundings.
func TestSignalWhilePluginsAreAsked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.hcl")
	text := "pipeline \"p\" {\n source \"numbers\" {\n config { count = 5 }\n }\n sink \"memory\" \"m\" {\n config { file = \"out\" }\n }\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		run  func(a *app) error
		want int
	}{
		"run":           {func(a *app) error { return (&runCmd{File: file, JSON: true}).Run(ctx, a) }, exitOK},
		"run to an end": {func(a *app) error { return (&runCmd{File: file, JSON: true, UntilCaughtUp: true}).Run(ctx, a) }, exitRuntime},
		"validate":      {func(a *app) error { return (&validateCmd{Files: []string{file}}).Run(ctx, a) }, exitRuntime},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			err := c.run(&app{cli: &cli{LogLevel: "info", LogFormat: "text"}, stdout: &stdout, stderr: &stderr, newLauncher: newFakeLauncher})
			if code := codeOf(err); code != c.want {
				t.Errorf("exit code %d (%v), want %d\n%s", code, err, c.want, stderr.String())
			}
			if name == "validate" && !errors.Is(err, errInterrupted) {
				t.Errorf("validate: %v", err)
			}
			if out := stdout.Bytes(); name != "validate" && !json.Valid(out) {
				t.Errorf("no JSON: %q", out)
			}
		})
	}
}
