package postgres

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Kill sends SIGKILL to the postmaster and to every process of it, as the end
// of the machine would, and waits until all are gone: none may write any more,
// and the shared memory is free for the next start.
func (s *Server) Kill() {
	select {
	case <-s.proc.Exited(): // its number may be another process's by now
		return
	default:
	}
	// A postmaster that stands still makes no further child.
	s.proc.Signal(syscall.SIGSTOP)
	children := childrenOf(s.proc.PID())
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.proc.Kill()
	for _, pid := range children {
		for !gone(pid) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// childrenOf lists a process's children.
func childrenOf(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var out []int
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if state, ppid := stat(pid); ppid == parent && state != 'Z' {
			out = append(out, pid)
		}
	}
	return out
}

func gone(pid int) bool {
	state, _ := stat(pid)
	return state == 0 || state == 'Z' || state == 'X'
}

// stat reads a process's state and parent; 0, 0 if there is none.
func stat(pid int) (state byte, parent int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0
	}
	// "pid (name) state parent ...": the name may hold anything.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 2 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(f[1]))
	return f[0][0], parent
}
