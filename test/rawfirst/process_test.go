//go:build services

package rawfirst

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/twg-io/twg/test/hostproc"
)

// host is a "twg run" with its plugins.
type host struct {
	*hostproc.Host
	t *testing.T
}

// start runs the example with a role.
func (w *world) start(role string, more ...string) *host {
	w.t.Helper()
	return &host{hostproc.Start(w.t, w.twg(role, append(append([]string{"run"}, more...), w.example)...)), w.t}
}

// killPlugin kills the process of a plugin of this host; to is the address of
// the server that it is connected to, which tells raw's from the copy's. Empty:
// the only one of its name.
func (h *host) killPlugin(name, to string) {
	h.t.Helper()
	h.Eventually("a process of "+name+" to kill", func() bool {
		for _, pid := range h.Plugins(name) {
			if to == "" || talksTo(pid, to) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
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
