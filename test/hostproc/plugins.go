package hostproc

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Plugins are the processes of a plugin, by its name, that the host has started
// and that live.
func (h *Host) Plugins(name string) (pids []int) {
	program := filepath.Join(filepath.Dir(h.Cmd.Path), "twg-plugin-"+name)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		b, _ := os.ReadFile(path)
		end := bytes.LastIndexByte(b, ')')
		if end < 0 {
			continue // it has just ended
		}
		fields := strings.Fields(string(b[end+1:])) // state, parent
		exe, _ := os.Readlink(filepath.Join(filepath.Dir(path), "exe"))
		if len(fields) > 1 && fields[1] == strconv.Itoa(h.Cmd.Process.Pid) && exe == program {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
