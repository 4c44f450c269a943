package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twg-io/twg/internal/devkafka"
)

// buildPlugins builds the real plugins into a directory.
func buildPlugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"kafka-source", "file-source", "socket-source", "parquet", "postgres"} {
		cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "twg-plugin-"+name), "../../plugins/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}

// twg runs the command line and returns what it wrote.
func twg(args ...string) (code int, stdout, stderr string) {
	var out, err strings.Builder
	code = Main(args, strings.NewReader(""), &out, &err, newLauncher, newRecoverer)
	return code, out.String(), err.String()
}

// Every example is valid, in the standard layout, and run on the data beside
// it where it can be.
func TestExamples(t *testing.T) {
	plugins := buildPlugins(t)
	files, err := filepath.Glob("../../examples/hcl/*.hcl")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %v, %d found", err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if code, _, stderr := twg("--plugin-dir", plugins, "validate", file); code != exitOK || stderr != "" {
				t.Errorf("validate: exit code %d\n%s", code, stderr)
			}
			if code, _, _ := twg("fmt", "--check", file); code != exitOK {
				t.Errorf("not in the standard layout; run make fmt")
			}
			if code, stdout, stderr := twg("--plugin-dir", plugins, "plan", file); code != exitOK || !strings.Contains(stdout, "Guarantee") {
				t.Errorf("plan: exit code %d\n%s", code, stderr)
			}
		})
	}
	t.Run("pages", func(t *testing.T) { pageExamples(t, plugins) })
	t.Run("quickstart runs", func(t *testing.T) { quickstart(t, plugins) })
	t.Run("a secondary is rebuilt", func(t *testing.T) { rebuilt(t, plugins) })
	t.Run("unreachable broker", func(t *testing.T) { unreachable(t, plugins) })
}

var hclBlock = regexp.MustCompile("(?s)```hcl\n(pipeline .*?)```")

// pageExamples: the pipelines that pages show are valid too.
func pageExamples(t *testing.T, plugins string) {
	for _, page := range []string{"../../README.md", "../../docs/config.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := hclBlock.FindAllSubmatch(text, -1)
		if len(blocks) == 0 {
			t.Errorf("%s shows no pipeline", page)
		}
		for _, b := range blocks {
			file := filepath.Join(t.TempDir(), "page.hcl")
			if err := os.WriteFile(file, b[1], 0o644); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := twg("--plugin-dir", plugins, "validate", file); code != exitOK {
				t.Errorf("%s: exit code %d\n%s", page, code, stderr)
			}
		}
	}
}

func quickstart(t *testing.T, plugins string) {
	file, err := filepath.Abs("../../examples/hcl/quickstart.hcl")
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devkafka.Start(t.Context(), devkafka.Options{
		Listen: "127.0.0.1:0",
		Load:   []devkafka.Load{{Topic: "earthquakes", File: "../../examples/data/earthquakes.ndjson", Key: "/id", Timestamp: "/properties/time"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	t.Setenv("TWG_BROKERS", broker.Addr)
	t.Chdir(t.TempDir())
	code, stdout, stderr := twg("--plugin-dir", plugins, "run", "--until-caught-up", file)
	if code != exitOK || !strings.HasPrefix(stdout, "delivered 1707 records\n") {
		t.Fatalf("exit code %d, stdout %q\n%s", code, stdout, stderr)
	}
	if sealed, _ := filepath.Glob("out/earthquakes/*.parquet"); len(sealed) == 0 {
		t.Error("no file is there")
	}
	// Once more: there is nothing left to do, and it ends.
	code, stdout, stderr = twg("--plugin-dir", plugins, "run", "--until-caught-up", file)
	if code != exitOK || !strings.HasPrefix(stdout, "delivered 0 records\n") {
		t.Errorf("second run: exit code %d, stdout %q\n%s", code, stdout, stderr)
	}
}

// unreachable: code 3 and the address, not a hang.
func unreachable(t *testing.T, plugins string) {
	file := filepath.Join(t.TempDir(), "p.hcl")
	const text = `
pipeline "p" {
  source "kafka-source" {
    config {
      brokers         = ["127.0.0.1:1"]
      topics          = ["t"]
      group           = "g"
      startup_timeout = "300ms"
    }
  }
  sink "parquet" "lake" {
    config { dir = "lake" }
  }
}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	code, _, stderr := twg("--plugin-dir", plugins, "--log-level", "error", "run", "--connect-timeout", "100ms", file)
	if code != exitEnvironment || !strings.Contains(stderr, "127.0.0.1:1") || !strings.Contains(stderr, "was not reached within 100ms") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}
