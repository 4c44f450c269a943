package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// running is a "twg run" in a process of its own that has written a record.
type running struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	stderr lines
}

// lines is what a process has written so far.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// eventually polls until ok, or fails the test after a minute.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// startRun runs numbers into memory, with more settings for both.
func startRun(t *testing.T, seen, source, sink string, flags ...string) *running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "p.hcl")
	text := fmt.Sprintf("pipeline \"p\" {\n shutdown_timeout = \"1h\"\n source \"numbers\" {\n config {\n count = 25\n %s\n }\n }\n sink \"memory\" \"m\" {\n config {\n file = %q\n %s\n }\n }\n}", source, seen, sink)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	plugin, err := exec.LookPath("twg-plugin-numbers")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	r := &running{cmd: exec.CommandContext(ctx, "twg-real", append(append([]string{"run"}, flags...), file)...)}
	r.cmd.Env = append(os.Environ(), "TWG_PLUGIN_DIR="+filepath.Dir(plugin))
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// startWriting is startRun until the first record has reached the sink.
func startWriting(t *testing.T, sink string) *running {
	t.Helper()
	seen := filepath.Join(t.TempDir(), "seen")
	r := startRun(t, seen, "", sink)
	eventually(t, "the first record", func() bool {
		_, err := os.Stat(seen)
		return err == nil
	})
	return r
}

func (r *running) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// end waits for the process and returns its exit code.
func (r *running) end(t *testing.T) int {
	t.Helper()
	if err := r.cmd.Wait(); err != nil && r.cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

func TestFirstSignalStopsGracefully(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		r := startWriting(t, "")
		r.signal(t, sig)
		if code := r.end(t); code != exitOK {
			t.Errorf("%s: exit code %d\n%s", sig, code, r.stderr.String())
		}
		if !strings.HasPrefix(r.stdout.String(), "delivered ") {
			t.Errorf("%s: no summary: %q", sig, r.stdout.String())
		}
	}
}

// The sink never confirms, so a graceful stop would take an hour.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		r := startWriting(t, "hang = true")
		children := childrenOf(t, r.cmd.Process.Pid)
		r.signal(t, sig)
		eventually(t, "the graceful stop", func() bool { return strings.Contains(r.stderr.String(), "stopping gracefully") })
		r.signal(t, sig)
		if code := r.end(t); code != want {
			t.Errorf("%s twice: exit code %d, want %d\n%s", sig, code, want, r.stderr.String())
		}
		for _, pid := range children {
			eventually(t, "the plugin's end", func() bool { return syscall.Kill(pid, 0) != nil || isZombie(pid) })
		}
		if len(children) != 2 {
			t.Errorf("%d plugin processes, want 2", len(children))
		}
	}
}

// Case 15: a stop while a plugin waits for its next attempt is prompt.
func TestStopDuringBackoff(t *testing.T) {
	r := startRun(t, filepath.Join(t.TempDir(), "seen"), `broken = "connection refused"`, "")
	eventually(t, "an attempt", func() bool { return strings.Contains(r.stderr.String(), "connection refused") })
	r.signal(t, syscall.SIGTERM)
	// shutdown_timeout is an hour, so whatever waits for it runs into the
	// test's own limit and is killed.
	if code := r.end(t); code != exitOK {
		t.Errorf("exit code %d\n%s", code, r.stderr.String())
	}
}

// What was asked for was not done.
func TestSignalBeforeCaughtUp(t *testing.T) {
	r := startRun(t, filepath.Join(t.TempDir(), "seen"), `broken = "connection refused"`, "", "--until-caught-up")
	eventually(t, "an attempt", func() bool { return strings.Contains(r.stderr.String(), "connection refused") })
	r.signal(t, syscall.SIGTERM)
	if code := r.end(t); code != exitRuntime || !strings.Contains(r.stderr.String(), "before everything was caught up") {
		t.Errorf("exit code %d\n%s", code, r.stderr.String())
	}
}
