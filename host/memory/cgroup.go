package memory

import (
	"bytes"
	"path"
	"strconv"
	"strings"
)

// noLimit: from here on a version 1 group has none; it says so by the largest
// number of pages.
const noLimit = 1 << 60

// cgroupLimit is the smallest limit of the host's group and those above it; 0:
// there is none.
func (r *Reader) cgroupLimit() int64 {
	text, err := r.file("proc", "self", "cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range bytes.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if n := r.limitOf(parts[0], parts[1], parts[2]); n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// limitOf is the limit of one line of /proc/self/cgroup.
func (r *Reader) limitOf(hierarchy, controllers, group string) int64 {
	switch {
	case hierarchy == "0" && controllers == "":
		return r.leastAbove(group, "memory.max", "sys/fs/cgroup", "sys/fs/cgroup/unified")
	case strings.Contains(","+controllers+",", ",memory,"):
		return r.leastAbove(group, "memory.limit_in_bytes", "sys/fs/cgroup/memory")
	}
	return 0
}

// leastAbove goes from a group up to the root of what is mounted. A group that
// is not there is that of another namespace: a container sees its own as root.
func (r *Reader) leastAbove(group, file string, mounts ...string) int64 {
	least := int64(0)
	for _, mount := range mounts {
		for at := path.Clean("/" + group); ; at = path.Dir(at) {
			if n := r.number(mount, at, file); n > 0 && (least == 0 || n < least) {
				least = n
			}
			if at == "/" {
				break
			}
		}
	}
	return least
}

// number reads a limit; 0: there is none.
func (r *Reader) number(mount, group, file string) int64 {
	text, err := r.file(mount, group, file)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= noLimit { // "max"
		return 0
	}
	return n
}
