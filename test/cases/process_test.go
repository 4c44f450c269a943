package cases

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/twg-io/twg/test/hostproc"
)

func start(t *testing.T, args ...string) *hostproc.Host {
	t.Helper()
	return hostproc.Start(t, exec.Command(filepath.Join(bin, "twg"), append([]string{"--plugin-dir", bin, "run"}, args...)...))
}

// catchUp runs to the end of the topic, and returns the exit code and what was
// said.
func catchUp(t *testing.T, file string) (int, string) {
	t.Helper()
	p := start(t, "--until-caught-up", file)
	return p.End(), p.Said()
}

// mustCatchUp wants that without a word about a failure.
func mustCatchUp(t *testing.T, file string) string {
	t.Helper()
	code, said := catchUp(t, file)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, said)
	}
	return said
}
