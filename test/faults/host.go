package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// host is twg run, as one process after another.
type host struct {
	bin, file, socket string
	log               *os.File

	mu      sync.Mutex
	pid     int
	exited  chan struct{} // closed when the process of pid is gone
	state   *os.ProcessState
	killing bool // the harness has asked for the end
	starts  int
}

func newHost(bin, dir, file, socket string) (*host, error) {
	log, err := os.Create(filepath.Join(dir, "host.log"))
	if err != nil {
		return nil, err
	}
	return &host{bin: bin, file: file, socket: socket, log: log}, nil
}

// start runs a new process. The one before must have ended.
func (h *host) start() error {
	cmd := exec.Command(filepath.Join(h.bin, "twg"), "run", h.file)
	cmd.Env = append(os.Environ(), "TWG_FAULT_SOCKET="+h.socket, "TWG_PLUGIN_DIR="+h.bin,
		"GORACE=log_path="+filepath.Join(filepath.Dir(h.log.Name()), raceLog))
	cmd.Stdout, cmd.Stderr = h.log, h.log
	// A group of its own: an interrupt at the terminal is for the harness. It
	// must not outlive a harness that was killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start host: %w", err)
	}
	exited := make(chan struct{})
	h.mu.Lock()
	h.pid, h.exited, h.killing = cmd.Process.Pid, exited, false
	h.starts++
	fmt.Fprintf(h.log, "--- faults: host %d is process %d\n", h.starts, h.pid)
	h.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		h.mu.Lock()
		h.state = cmd.ProcessState
		h.mu.Unlock()
		close(exited)
	}()
	return nil
}

// current returns the process, and a channel that is closed when it is gone.
func (h *host) current() (pid int, exited <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.pid, h.exited
}

// process is the number of the process that runs or ran last.
func (h *host) process() int {
	pid, _ := h.current()
	return pid
}

// signal sends sig and notes that the end was asked for.
func (h *host) signal(sig syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.killing = true
	select {
	case <-h.exited: // the number may be another process's by now
	default:
		_ = syscall.Kill(h.pid, sig)
	}
}

// kill ends the process at once and waits for it.
func (h *host) kill() {
	h.signal(syscall.SIGKILL)
	_, exited := h.current()
	<-exited
}

// diedAlone says how the process ended, if nobody asked for it.
func (h *host) diedAlone() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.exited:
		if !h.killing {
			return h.state.String()
		}
	default:
	}
	return ""
}

// stop asks for a graceful end and says what was wrong with it.
func (h *host) stop(ctx context.Context) string {
	h.signal(syscall.SIGTERM)
	_, exited := h.current()
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	select {
	case <-exited:
	case <-ctx.Done():
		h.kill()
		return fmt.Sprintf("host did not stop within %s", stopWithin)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.state.Success() {
		return "graceful stop ended with " + h.state.String()
	}
	return ""
}

// stopWithin bounds a graceful stop.
const stopWithin = 30 * time.Second

// raceLog begins the names of the race detector's reports on the host. Those
// on plugins are in the host's log.
const raceLog = "race"
