//go:build services

package rawfirst

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is for a machine with other work; the longest that a quiet one takes
// is lease_ttl, 30 s.
const patience = 2 * time.Minute

// host is a "twg run" with its plugins.
type host struct {
	t      *testing.T
	cmd    *exec.Cmd
	done   chan struct{}
	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write takes standard error.
func (h *host) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stderr.Write(b)
}

// said is the end of what the host has said.
func (h *host) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.stderr.String()
	return text[max(0, len(text)-6000):]
}

// start runs the example with a role.
func (w *world) start(role string, more ...string) *host {
	w.t.Helper()
	h := &host{t: w.t, done: make(chan struct{})}
	h.cmd = w.twg(role, append(append([]string{"run"}, more...), w.example)...)
	h.cmd.Stderr = h
	h.cmd.WaitDelay = 15 * time.Second
	if err := h.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { // ends with the process, which the cleanup below ends
		h.cmd.Wait()
		close(h.done)
	}()
	w.t.Cleanup(h.kill)
	return h
}

// wait waits for the end, which must be a good one.
func (h *host) wait() {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(patience):
		h.t.Fatalf("twg did not end\n%s", h.said())
	}
	if code := h.cmd.ProcessState.ExitCode(); code != 0 {
		h.t.Fatalf("exit code %d\n%s", code, h.said())
	}
}

// stop asks for a graceful end.
func (h *host) stop() {
	h.t.Helper()
	h.cmd.Process.Signal(os.Interrupt)
	h.wait()
}

// kill ends it with SIGKILL.
func (h *host) kill() {
	h.cmd.Process.Kill()
	<-h.done
}

// killPlugin kills the process of a plugin of this host; to is the address of
// the server that it is connected to, which tells raw's from the copy's. Empty:
// the only one of its name.
func (h *host) killPlugin(name, to string) {
	h.t.Helper()
	h.eventually("a process of "+name+" to kill", func() bool {
		for _, pid := range h.plugins(name) {
			if to == "" || talksTo(pid, to) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
}

// plugins are the processes of a plugin that this host has started.
func (h *host) plugins(name string) (pids []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path)
		end := bytes.LastIndexByte(b, ')')
		if end < 0 {
			continue // it has just ended
		}
		fields := strings.Fields(string(b[end+1:])) // state, parent
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(h.cmd.Process.Pid) && exe == filepath.Join(bin, "twg-plugin-"+name) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// talksTo says whether a process has a connection to an address of the loopback.
func talksTo(pid int, address string) bool {
	var sockets []string
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, f := range files {
		to, _ := os.Readlink(f)
		sockets = append(sockets, to)
	}
	list, err := os.Open("/proc/net/tcp")
	if err != nil {
		return false
	}
	defer list.Close()
	port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	const remote, inode = 2, 9 // columns
	for lines := bufio.NewScanner(list); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) > inode && strings.HasSuffix(f[remote], fmt.Sprintf(":%04X", port)) && slices.Contains(sockets, "socket:["+f[inode]+"]") {
			return true
		}
	}
	return false
}

// eventually polls until ok. It fails the test when patience is over, and at once
// if the host ends by itself.
func (h *host) eventually(what string, ok func() bool) {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if ok() {
			return
		}
		select {
		case <-tick.C:
		case <-h.done:
			h.t.Fatalf("the host ended by itself, before %s\n%s", what, h.said())
		}
	}
	h.t.Fatalf("waited in vain for %s\n%s", what, h.said())
}
