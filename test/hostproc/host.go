// Package hostproc builds twg's programs for a test and runs a host with its
// plugins: real processes, started, asked to end and killed.
package hostproc

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// patience is for a machine with other work; the longest that a quiet one takes
// is lease_ttl, 30 s.
const patience = 4 * time.Minute

// Host is a "twg run" with its plugins. Its methods may be called by one
// goroutine at a time, Said by any.
type Host struct {
	// Cmd is the process, Done is closed once it has ended.
	Cmd  *exec.Cmd
	Done chan struct{}

	t      *testing.T
	mu     sync.Mutex
	stderr bytes.Buffer
}

// Start starts a command, whose standard error it takes. The test's cleanup
// kills it.
func Start(t *testing.T, cmd *exec.Cmd) *Host {
	t.Helper()
	h := &Host{Cmd: cmd, Done: make(chan struct{}), t: t}
	cmd.Stderr, cmd.WaitDelay = said{h}, 15*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which the cleanup ends
		_ = cmd.Wait() // ProcessState says how
		close(h.Done)
	}()
	t.Cleanup(h.Kill)
	return h
}

// said takes standard error.
type said struct{ h *Host }

func (s said) Write(b []byte) (int, error) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.h.stderr.Write(b)
}

// Said is all that the host has said.
func (h *Host) Said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.String()
}

// told is the end of it, for a test that fails.
func (h *Host) told() string {
	text := h.Said()
	return text[max(0, len(text)-6000):]
}

// End waits until the host has ended by itself, and returns its exit code.
func (h *Host) End() int {
	h.t.Helper()
	select {
	case <-h.Done:
	case <-time.After(patience):
		h.t.Fatalf("twg did not end\n%s", h.told())
	}
	return h.Cmd.ProcessState.ExitCode()
}

// Wait waits for the end, which must be a good one.
func (h *Host) Wait() {
	h.t.Helper()
	if code := h.End(); code != 0 {
		h.t.Fatalf("exit code %d\n%s", code, h.told())
	}
}

// Stop asks for a graceful end, and waits for it.
func (h *Host) Stop() {
	h.t.Helper()
	if err := h.Cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Fatal(err)
	}
	h.Wait()
}

// Kill ends it with SIGKILL, if it has not ended yet.
func (h *Host) Kill() {
	_ = h.Cmd.Process.Kill() // it may have ended
	<-h.Done
}

// Eventually polls until ok. It fails the test when patience is over, and at once
// if the host ends by itself before.
func (h *Host) Eventually(what string, ok func() bool) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if ok() {
			return
		}
		select {
		case <-tick.C:
		case <-h.Done:
			h.t.Fatalf("the host ended by itself, before %s\n%s", what, h.told())
		}
	}
	h.t.Fatalf("waited in vain for %s\n%s", what, h.told())
}
