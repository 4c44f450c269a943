package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// hostProcess is one process of twg run.
type hostProcess struct {
	name   string // as the sink's database sees it
	pid    int
	begun  time.Time
	exited chan struct{} // closed when it is gone

	mu    sync.Mutex
	state *os.ProcessState
	asked bool // the harness has asked for its end
	// early: a plugin was killed while the host was starting.
	early bool
}

const (
	// startingFor is how long a host may take to start its plugins.
	startingFor = 5 * time.Second
	// exitNotStarted is the host's exit code when a plugin cannot be started.
	exitNotStarted = 3
)

// stopWithin bounds a graceful stop.
const stopWithin = 30 * time.Second

// watchHost waits for the process that was started.
func watchHost(name string, cmd *exec.Cmd) *hostProcess {
	p := &hostProcess{name: name, pid: cmd.Process.Pid, begun: time.Now(), exited: make(chan struct{})}
	go func() { // ends with the process, and stop or kill wait for that
		_ = cmd.Wait()
		p.mu.Lock()
		p.state = cmd.ProcessState
		p.mu.Unlock()
		close(p.exited)
	}()
	return p
}

// signal sends sig unless the process is gone.
func (p *hostProcess) signal(sig syscall.Signal) {
	select {
	case <-p.exited: // the number may be another process's by now
	default:
		_ = syscall.Kill(p.pid, sig)
	}
}

// end sends sig and notes that the end was asked for.
func (p *hostProcess) end(sig syscall.Signal) {
	p.mu.Lock()
	p.asked = true
	p.mu.Unlock()
	p.signal(sig)
}

// willHalt notes that the host is to end by itself.
func (p *hostProcess) willHalt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
}

// exitCode is that of a process that has ended.
func (p *hostProcess) exitCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state.ExitCode()
}

// losesPlugin notes that a plugin of the host is being killed. A host that is
// starting then gives up, with a message and a code of its own, as for any
// plugin that does not start: whoever started it starts it again.
func (p *hostProcess) losesPlugin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.early = p.early || time.Since(p.begun) < startingFor
}

// kill ends the process at once and waits for it.
func (p *hostProcess) kill() {
	p.end(syscall.SIGKILL)
	<-p.exited
}

// diedAlone says how the process ended, if nobody asked for it.
func (p *hostProcess) diedAlone() string {
	select {
	case <-p.exited:
	default:
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked || p.early && p.state.ExitCode() == exitNotStarted {
		return ""
	}
	return p.state.String()
}

// stop asks for a graceful end and says what was wrong with it.
func (p *hostProcess) stop(ctx context.Context) string {
	p.end(syscall.SIGTERM)
	return p.wait(ctx)
}

// wait waits for the process's end and says what was wrong with it.
func (p *hostProcess) wait(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	select {
	case <-p.exited:
	case <-ctx.Done():
		p.kill()
		return fmt.Sprintf("process %d did not end within %s", p.pid, stopWithin)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.state.Success() {
		return fmt.Sprintf("process %d ended with %s", p.pid, p.state)
	}
	return ""
}
