package readback

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherReadersAgree needs python3, and for its first run a package index:
// it makes a virtual environment in $TWG_TEST_CACHE, or in the user's cache
// directory, and keeps it.
func TestOtherReadersAgree(t *testing.T) {
	python := environment(t)
	records := corpus()
	expected := filepath.Join(t.TempDir(), "expected.json")
	text, err := json.Marshal(expect(records))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(expected, text, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"readback.py", expected}
	for _, compression := range []string{"zstd", "snappy", "none"} {
		dir := filepath.Join(t.TempDir(), compression)
		deliver(t, dir, compression, records)
		args = append(args, dir)
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("readback.py: %v", err)
	}
}

// environment returns the python of a virtual environment that has what
// requirements.txt says.
func environment(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("TWG_TEST_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Fatalf("%v; set TWG_TEST_CACHE to a directory", err)
		}
		cache = filepath.Join(user, "twg-test")
	}
	want, err := os.ReadFile("requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	venv := filepath.Join(cache, "readback-"+strings.NewReplacer("\n", "-", "==", "-").Replace(strings.TrimSpace(string(want))))
	done := filepath.Join(venv, "complete")
	if _, err := os.Stat(done); err != nil {
		run(t, "python3", "-m", "venv", "--clear", venv)
		run(t, filepath.Join(venv, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(venv, "bin", "python")
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}
