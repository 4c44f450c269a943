// Package memory reads how much memory the host and its plugins have, and how
// much they may have. It reads Linux's /proc and cgroup files, version 2 and 1;
// elsewhere nothing is known.
package memory

import (
	"os"
	"path/filepath"
)

// Reader reads for one host. Its methods may be called from any goroutine.
type Reader struct {
	// Root is where /proc and /sys are; empty: "/". Tests have a tree of their
	// own.
	Root string
	// PIDs returns the plugins' processes that run now; nil: there are none. The
	// host's own is always counted.
	PIDs func() []int
	// Limit is memory_limit, in bytes; 0: not said.
	Limit int64
	// GoLimit is GOMEMLIMIT, in bytes; 0: not set. It counts only if nothing
	// else is known.
	GoLimit int64
}

// Usage is what a reading has found, in bytes.
type Usage struct {
	// Resident is the memory of the host and its plugins that the kernel cannot
	// take back: anonymous and shared pages, without those of program files,
	// which each Go program would be counted for again.
	Resident int64
	// Limit is what they may have together; 0: not known.
	Limit int64
	// From says whose limit that is: "memory_limit", "cgroup", "GOMEMLIMIT", or
	// nothing.
	From string
}

// Ratio is the resident part of the limit; 0: not known.
func (u Usage) Ratio() float64 {
	if u.Limit <= 0 {
		return 0
	}
	return float64(u.Resident) / float64(u.Limit)
}

// Read reads both. A process that has ended meanwhile counts as nothing. The
// error is of the host's own process, which is always there.
func (r *Reader) Read() (Usage, error) {
	u := r.limit()
	resident, err := r.resident("self")
	u.Resident = resident
	if r.PIDs != nil {
		for _, pid := range r.PIDs() {
			u.Resident += r.residentOf(pid)
		}
	}
	return u, err
}

// limit is the smaller of memory_limit and the cgroup's: passing either ends
// badly.
func (r *Reader) limit() Usage {
	cgroup := r.cgroupLimit()
	switch {
	case r.Limit > 0 && (cgroup == 0 || r.Limit <= cgroup):
		return Usage{Limit: r.Limit, From: "memory_limit"}
	case cgroup > 0:
		return Usage{Limit: cgroup, From: "cgroup"}
	case r.GoLimit > 0:
		return Usage{Limit: r.GoLimit, From: "GOMEMLIMIT"}
	}
	return Usage{}
}

func (r *Reader) file(parts ...string) ([]byte, error) {
	root := r.Root
	if root == "" {
		root = "/"
	}
	return os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
}
