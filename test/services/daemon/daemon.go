// Package daemon owns one server process of a test.
package daemon

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Process is a server that was started. Its methods may be called from any
// goroutine.
type Process struct {
	name   string
	log    string
	cmd    *exec.Cmd
	exited chan struct{}
	once   sync.Once
}

// Start starts cmd, its output appended to the file log. The process is ended
// with onOrphan if this program dies first. name is for errors.
func Start(cmd *exec.Cmd, name, log string, onOrphan syscall.Signal) (*Process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A group of its own: an interrupt at the terminal is for the test.
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = onOrphan
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &Process{name: name, log: log, cmd: cmd, exited: make(chan struct{})}
	go func() { // ends with the process, and Kill or Stop wait for that
		_ = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Signal sends sig unless the process is gone.
func (p *Process) Signal(sig syscall.Signal) {
	select {
	case <-p.exited: // the number may be another process's by now
	default:
		_ = p.cmd.Process.Signal(sig)
	}
}

// Kill sends SIGKILL and waits for the end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.exited
}

// Stop sends sig and waits for the end; when ctx ends first, it kills and says
// so.
func (p *Process) Stop(ctx context.Context, sig syscall.Signal) error {
	p.Signal(sig)
	select {
	case <-p.exited:
		return nil
	case <-ctx.Done():
		p.Kill()
		return fmt.Errorf("stop %s: it did not end by itself: %w; see %s", p.name, ctx.Err(), p.log)
	}
}

// Ready calls try until it returns nil, the process ends or ctx ends.
func (p *Process) Ready(ctx context.Context, try func(context.Context) error) error {
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("start %s: it ended with %s:\n%s", p.name, p.cmd.ProcessState, Tail(p.log))
		case <-ctx.Done():
			return fmt.Errorf("start %s: it is not ready: %w (%w):\n%s", p.name, err, ctx.Err(), Tail(p.log))
		default:
		}
		pause(ctx)
	}
}
