package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// procField reads a field of a process's status.
func procField(pid int, field string) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func isZombie(pid int) bool { return strings.HasPrefix(procField(pid, "State"), "Z") }

// childrenOf lists the processes whose parent is pid.
func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var out []int
	for _, d := range dirs {
		child, _ := strconv.Atoi(filepath.Base(d))
		if procField(child, "PPid") == strconv.Itoa(pid) {
			out = append(out, child)
		}
	}
	return out
}
