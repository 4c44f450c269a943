package memory

import (
	"bytes"
	"fmt"
	"strconv"
)

// residentOf is a plugin's memory; 0: its process is gone.
func (r *Reader) residentOf(pid int) int64 {
	n, err := r.resident(strconv.Itoa(pid))
	if err != nil {
		return 0
	}
	return n
}

// resident is a process's anonymous and shared resident memory in bytes.
func (r *Reader) resident(pid string) (int64, error) {
	text, err := r.file("proc", pid, "status")
	if err != nil {
		return 0, fmt.Errorf("read the memory of process %s: %w", pid, err)
	}
	anon, ok := kibibytes(text, "RssAnon:")
	if !ok { // a kernel before 4.5
		anon, ok = kibibytes(text, "VmRSS:")
	}
	if !ok {
		return 0, fmt.Errorf("read the memory of process %s: /proc/%s/status names none", pid, pid)
	}
	shared, _ := kibibytes(text, "RssShmem:")
	return anon + shared, nil
}

// kibibytes finds a line such as "RssAnon:	  1234 kB" and returns the bytes.
func kibibytes(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(key))
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))), 10, 64)
		return n << 10, err == nil && n >= 0 && n < 1<<50
	}
	return 0, false
}
