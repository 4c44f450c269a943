package plugins

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

func launch(t *testing.T, f File, opt Options) *Process {
	t.Helper()
	p, err := Launch(t.Context(), f, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestLaunchDescribesAndConfigures(t *testing.T) {
	p := launch(t, install(t, t.TempDir(), "sink"), Options{})
	if d := p.Describe(); d.Name != "sink" || d.Version != "1.2.3" || d.Kind != sdk.KindSink || len(d.Schema) != 1 || !d.Schema[0].Sensitive {
		t.Fatalf("described as %+v", d)
	}
	caps, diags, err := p.Configure(t.Context(), settingsOf(t, fakeSettings{}))
	if err != nil || diags.HasErrors() || !caps.Durable {
		t.Fatalf("configured: %+v %v %v", caps, diags, err)
	}
	_, diags, err = p.Configure(t.Context(), settingsOf(t, fakeSettings{Mode: "refuse"}))
	if err != nil || len(diags) != 1 || diags[0].Path[0] != "mode" {
		t.Fatalf("diagnostics: %v %v", diags, err)
	}
	began := time.Now()
	p.Stop(t.Context())
	if d := time.Since(began); d > 1500*time.Millisecond {
		t.Errorf("a plugin that may go took %v: it was killed", d)
	}
}

func TestEnvironmentIsMinimal(t *testing.T) {
	t.Setenv("TWG_SECRET", "s3cret")
	t.Setenv("LC_TIME", "C")
	p := launch(t, install(t, t.TempDir(), "sink"), Options{})
	b, err := os.ReadFile(filepath.Join("/proc", p.child.Load().ID(), "environ"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for kv := range strings.SplitSeq(strings.TrimRight(string(b), "\x00"), "\x00") {
		name, _, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(kv, "-----") || !strings.Contains(kv, "=") {
			continue // the certificate's further lines
		}
		names = append(names, name)
	}
	for _, n := range names {
		if !passes(n) && !strings.HasPrefix(n, "PLUGIN_") && n != "TWG_PLUGIN" {
			t.Errorf("the plugin sees %s", n)
		}
	}
	if !slices.Contains(names, "LC_TIME") || !slices.Contains(names, "PATH") {
		t.Errorf("the plugin sees only %v", names)
	}
}

func TestWhatIsNoPluginIsRefused(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		file File
		kind sdk.Kind
		want []string
	}{
		{writeFile(t, dir, "text", "this is just text\n"), sdk.KindFatal, []string{"no program for this machine"}},
		{writeFile(t, dir, "script", "#!/bin/sh\necho oops >&2; echo hello; exec sleep 60\n"), sdk.KindFatal, []string{`first line is "hello"`, "stderr: oops"}},
		{install(t, dir, "exits"), sdk.KindRetryable, []string{"exited with code 3", "stderr: no licence found"}},
		{install(t, dir, "newer"), sdk.KindFatal, []string{"speaks version 2", "speaks version 1"}},
		{install(t, dir, "hangs"), sdk.KindRetryable, []string{"did not answer within 1s"}},
		{File{"gone", filepath.Join(dir, "gone")}, sdk.KindFatal, []string{"no such file"}},
	}
	for _, tt := range tests {
		t.Run(tt.file.Name, func(t *testing.T) {
			p, err := Launch(t.Context(), tt.file, Options{StartTimeout: time.Second})
			if err == nil {
				p.Kill()
				t.Fatal("it was launched")
			}
			for _, w := range append(tt.want, tt.file.Path) {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("the error lacks %q: %v", w, err)
				}
			}
			if sdk.KindOf(err) != tt.kind {
				t.Errorf("kind %v, want %v", sdk.KindOf(err), tt.kind)
			}
		})
	}
}

func TestDiscover(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	writeFile(t, a, "x", "")
	writeFile(t, a, "y", "")
	if err := os.WriteFile(filepath.Join(a, Prefix+"not-executable"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(a, Prefix+"directory"), 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := Discover([]string{a, b, a})
	if err != nil || len(files) != 2 || files[0].Name != "x" || files[1].Name != "y" {
		t.Fatalf("found %v, %v", files, err)
	}
	_, err = Find([]string{a, b}, "z")
	if e, ok := errors.AsType[*NotFoundError](err); !ok || !slices.Equal(e.Have, []string{"x", "y"}) {
		t.Fatalf("find z: %v", err)
	}
	other := writeFile(t, b, "x", "other")
	_, err = Find([]string{a, b}, "y")
	if err == nil || !strings.Contains(err.Error(), files[0].Path) || !strings.Contains(err.Error(), other.Path) {
		t.Fatalf("two of one name: %v", err)
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	one, two := install(t, dir, "sink"), install(t, dir, "sink2")
	install(t, dir, "source")
	writeFile(t, dir, "text", "text")
	rows, err := List(context.Background(), []string{dir}, Options{})
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v %v", rows, err)
	}
	for _, r := range rows {
		switch r.File.Name {
		case "source":
			if r.Err != nil || r.Description.Kind != sdk.KindSource {
				t.Errorf("source: %+v", r)
			}
		case "text":
			if r.Err == nil {
				t.Errorf("text is a plugin: %+v", r)
			}
		default:
			if r.Err == nil || !strings.Contains(r.Err.Error(), one.Path) || !strings.Contains(r.Err.Error(), two.Path) {
				t.Errorf("two that call themselves sink: %v", r.Err)
			}
		}
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	f := install(t, dir, "sink")
	lock, err := NewLock([]File{f})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "twg.lock")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.WriteTo(w); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if lock, err = ReadLock(path); err != nil {
		t.Fatal(err)
	}
	p := launch(t, f, Options{Lock: lock})
	if d := p.Describe(); d.Name != "sink" {
		t.Fatalf("described as %+v", d)
	}
	other := File{Name: "other", Path: f.Path}
	changed := writeFile(t, t.TempDir(), "sink", "changed")
	for _, f := range []File{other, changed} {
		if _, err := Launch(t.Context(), f, Options{Lock: lock}); err == nil || !strings.Contains(err.Error(), f.Path) || sdk.KindOf(err) != sdk.KindFatal {
			t.Errorf("launch %v: %v", f, err)
		}
	}
}
