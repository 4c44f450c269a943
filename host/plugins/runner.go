package plugins

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin/runner"
)

// child is one plugin process. It waits on the process itself, not on the
// pipes (which a grandchild may hold open), so that a kill -9 is noticed at
// once.
type child struct {
	cmd    *exec.Cmd
	stdout *firstLine
	stderr *eofReader
	pid    int

	mu   sync.Mutex
	gone bool
	err  error
	done chan struct{} // closed once the process has ended
}

var _ runner.Runner = (*child)(nil)

// newChild prepares a process in a group of its own: Ctrl-C at the terminal
// is the host's to act on, and a kill takes the plugin's children with it.
func newChild(cmd *exec.Cmd) *child {
	cmd.Stdin = nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return &child{cmd: cmd, done: make(chan struct{})}
}

// Start starts the process and begins to wait for its end.
func (c *child) Start(context.Context) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return err
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		outR.Close()
		outW.Close()
		return err
	}
	c.cmd.Stdout, c.cmd.Stderr = outW, errW
	c.stdout, c.stderr = newFirstLine(outR), newEOFReader(errR)
	err = c.cmd.Start()
	outW.Close()
	errW.Close()
	if err != nil {
		outR.Close()
		errR.Close()
		return err
	}
	c.mu.Lock()
	c.pid = c.cmd.Process.Pid
	c.mu.Unlock()
	go c.wait()
	return nil
}

func (c *child) wait() {
	err := c.cmd.Wait()
	select { // what it said last is worth a moment
	case <-c.stderr.eof:
	case <-time.After(200 * time.Millisecond):
		c.stdout.Close() // somebody else holds the other ends
		c.stderr.Close()
	}
	c.mu.Lock()
	c.gone, c.err = true, err
	c.mu.Unlock()
	close(c.done)
}

// Wait returns how the process ended.
func (c *child) Wait(context.Context) error {
	<-c.done
	return c.err
}

// Kill ends the process and its children.
func (c *child) Kill(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone || c.pid == 0 {
		return nil
	}
	if err := syscall.Kill(-c.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// ended says how the process ended: "was killed by signal 9 (killed)".
func (c *child) ended() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		return "still runs"
	}
	st, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && st.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%s)", int(st.Signal()), st.Signal())
	}
	return fmt.Sprintf("exited with code %d", c.cmd.ProcessState.ExitCode())
}

// signaled reports whether a signal ended the process.
func (c *child) signaled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		return false
	}
	st, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && st.Signaled()
}

// Stdout and Stderr are read by go-plugin.
func (c *child) Stdout() io.ReadCloser { return c.stdout }
func (c *child) Stderr() io.ReadCloser { return c.stderr }

// Name is the path that was executed.
func (c *child) Name() string { return c.cmd.Args[0] }

// ID is the process's number.
func (c *child) ID() string { return strconv.Itoa(c.pid) }

// Diagnose adds nothing: Launch explains.
func (c *child) Diagnose(context.Context) string { return "" }

// PluginToHost and HostToPlugin change nothing: both run on one machine.
func (c *child) PluginToHost(n, a string) (string, string, error) { return n, a, nil }
func (c *child) HostToPlugin(n, a string) (string, string, error) { return n, a, nil }

// firstLine remembers what a process said first: a plugin's handshake, or
// what tells that it is none.
type firstLine struct {
	*os.File
	mu   sync.Mutex
	line []byte
	full bool
}

func newFirstLine(f *os.File) *firstLine { return &firstLine{File: f} }

func (f *firstLine) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range p[:n] {
		if f.full = f.full || b == '\n' || len(f.line) >= bufio.MaxScanTokenSize; f.full {
			break
		}
		f.line = append(f.line, b)
	}
	return n, err
}

func (f *firstLine) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.TrimSpace(string(f.line))
}

// eofReader tells when everything was read.
type eofReader struct {
	*os.File
	once sync.Once
	eof  chan struct{}
}

func newEOFReader(f *os.File) *eofReader { return &eofReader{File: f, eof: make(chan struct{})} }

func (r *eofReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if err != nil {
		r.once.Do(func() { close(r.eof) })
	}
	return n, err
}
