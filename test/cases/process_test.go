package cases

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a "twg run" with its plugins.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	mu     sync.Mutex
	stderr bytes.Buffer
	ended  bool
}

// Write takes standard error.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	p := &process{t: t, cmd: exec.CommandContext(ctx, filepath.Join(bin, "twg"), append([]string{"--plugin-dir", bin, "run"}, args...)...)}
	p.cmd.Stderr = p
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 20 * time.Second
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !p.ended {
			cancel()
			p.end()
		}
	})
	return p
}

// end waits for the exit code.
func (p *process) end() int {
	p.t.Helper()
	if err := p.cmd.Wait(); err != nil && p.cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	p.ended = true
	return p.cmd.ProcessState.ExitCode()
}

// stop asks for a graceful stop, which must be one.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		p.t.Fatal(err)
	}
	if code := p.end(); code != 0 {
		p.t.Errorf("exit code %d\n%s", code, p.said())
	}
}

// catchUp runs to the end of the topic, and returns the exit code and what was
// said.
func catchUp(t *testing.T, file string) (int, string) {
	t.Helper()
	p := start(t, "--until-caught-up", file)
	return p.end(), p.said()
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

// eventually polls until ok, or fails the test after a minute.
func eventually(t *testing.T, what string, p *process, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s\n%s", what, p.said())
}
