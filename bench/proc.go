package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the kernel's USER_HZ, which is 100 on every Linux that Go
// runs on.
const ticksPerSecond = 100

// procStat is what /proc/<pid>/stat says that is of use here.
type procStat struct {
	parent int
	cpu    time.Duration
}

// parseStat reads a stat line. The second field is a name in brackets that
// may hold anything, so the fields are counted from the last bracket.
func parseStat(line []byte) (procStat, error) {
	_, rest, ok := cutLast(line, ')')
	f := strings.Fields(string(rest))
	if !ok || len(f) < 13 {
		return procStat{}, fmt.Errorf("read stat line: too short: %q", line)
	}
	var n [3]int64
	for i, k := range []int{1, 11, 12} { // ppid, utime, stime
		v, err := strconv.ParseInt(f[k], 10, 64)
		if err != nil {
			return procStat{}, fmt.Errorf("read stat line: field %d: %w", k+3, err)
		}
		n[i] = v
	}
	return procStat{parent: int(n[0]), cpu: time.Duration(n[1]+n[2]) * time.Second / ticksPerSecond}, nil
}

func cutLast(b []byte, sep byte) (before, after []byte, ok bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return b, nil, false
	}
	return b[:i], b[i+1:], true
}

// parseStatus finds resident memory, now and at its highest, in bytes.
func parseStatus(text []byte) (rss, peak int64) {
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			rss = kb << 10
		case "VmHWM":
			peak = kb << 10
		}
	}
	return rss, peak
}

func readStat(pid int) (procStat, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return procStat{}, err
	}
	return parseStat(b)
}

// child is a process whose parent is watched, and the name of its program.
type child struct {
	parent int
	exe    string
}

// children are the live processes whose parent is one of these.
func children(parents ...int) map[int]child {
	found := map[int]child{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		s, err := readStat(pid)
		if err != nil || !slices.Contains(parents, s.parent) || s.parent == 0 {
			continue
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil {
			found[pid] = child{s.parent, filepath.Base(exe)}
		}
	}
	return found
}
