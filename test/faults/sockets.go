package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/twg-io/twg/test/faults/control"
)

// clientOf returns which of processes has the local end of a connection over
// the loopback; 0: none of them.
func clientOf(end net.Addr, processes []control.Process) int {
	socket := socketAt(end)
	if socket == "" {
		return 0
	}
	for _, p := range processes {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.PID))
		for _, f := range files {
			if to, _ := os.Readlink(f); to == socket {
				return p.PID
			}
		}
	}
	return 0
}

// socketAt is the socket that is bound to an address of IPv4, as /proc/*/fd
// shows it.
func socketAt(end net.Addr) string {
	a, ok := end.(*net.TCPAddr)
	if !ok || a.IP.To4() == nil {
		return ""
	}
	ip := a.IP.To4()
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], a.Port) // as little-endian machines have it
	// The kernel gives the table in pieces; a line can be missed while others
	// come and go.
	for range 5 {
		if socket := inTable(local); socket != "" {
			return socket
		}
	}
	return ""
}

// inTable looks for a local address once. Connections that only wait to be
// forgotten may have it too, and belong to nobody: their inode is 0.
func inTable(local string) string {
	f, err := os.Open("/proc/net/tcp")
	if err != nil {
		return ""
	}
	defer f.Close()
	const inode = 9 // the column
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if w := strings.Fields(lines.Text()); len(w) > inode && w[1] == local && w[inode] != "0" {
			return "socket:[" + w[inode] + "]"
		}
	}
	return ""
}
