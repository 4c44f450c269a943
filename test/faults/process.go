package main

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// waitGone polls until the process has ended; a zombie has.
func waitGone(pid int, deadline time.Time) bool {
	for {
		if gone(pid) {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	// pid (name) state ...; the name may hold anything, so look from its end.
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')'):], []byte(" "))
	return ok && len(rest) > 0 && (rest[0] == 'Z' || rest[0] == 'X')
}
