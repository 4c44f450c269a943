//go:build faults

// Package faultpoint names the moments at which the fault harness may stop
// and kill a process. This is the half that is built with the tag faults: the
// process reports to the harness's unix socket, and stops at the point that
// the harness has armed.
//
// The protocol is lines of words. The process opens with
//
//	hello <role> <pid> <ppid>
//
// The harness may then send, at any time,
//
//	arm <id> <point> <hits>
//	disarm <id>
//	release <id>
//
// and the process answers, once, at the hits'th Hit(point) from then on
//
//	reached <id> <point>
//
// after which that goroutine goes on only if it is released. The others do, as
// in life, until the harness kills the process.
package faultpoint

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// SocketEnv names the harness's unix socket; RoleEnv, optionally, what the
// process calls itself. Without it that is the executable's name.
const (
	SocketEnv = "TWG_FAULT_SOCKET"
	RoleEnv   = "TWG_FAULT_ROLE"
)

type arm struct {
	id    string
	point string
	left  int
}

// points is one process's armed points. any is true while there is one, so
// that a Hit that concerns nobody costs one atomic load.
type points struct {
	any    atomic.Bool
	mu     sync.Mutex
	arms   []arm
	held   map[string]chan struct{} // who stands at a point, by the arm's id
	report func(line string)
}

var process = newPoints(func(string) {})

func newPoints(report func(string)) *points {
	return &points{held: map[string]chan struct{}{}, report: report}
}

func init() {
	socket := os.Getenv(SocketEnv)
	if socket == "" {
		return
	}
	role := os.Getenv(RoleEnv)
	if role == "" {
		role = filepath.Base(os.Args[0])
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintf(os.Stderr, "dial fault harness: %v\n", err)
		return
	}
	process.report = func(line string) { fmt.Fprintln(conn, line) }
	process.report(fmt.Sprintf("hello %s %d %d", role, os.Getpid(), os.Getppid()))
	// The reader lives as long as the process: the harness may arm points to
	// its very end.
	go process.listen(conn)
}

// Hit says that the process is at the named moment. If the harness has armed
// the point and this is the hit that it waits for, Hit returns only when it is
// released.
func Hit(name string) {
	if released := process.hit(name); released != nil {
		<-released
	}
}

func (p *points) hit(name string) (released <-chan struct{}) {
	if !p.any.Load() {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.arms {
		a := &p.arms[i]
		if a.point != name {
			continue
		}
		if a.left--; a.left > 0 {
			continue
		}
		wait := make(chan struct{})
		p.held[a.id] = wait
		p.report(fmt.Sprintf("reached %s %s", a.id, a.point))
		p.remove(a.id)
		return wait
	}
	return nil
}

func (p *points) listen(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		p.command(strings.Fields(lines.Text()))
	}
}

func (p *points) command(words []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(words) == 4 && words[0] == "arm":
		a := arm{id: words[1], point: words[2]}
		if _, err := fmt.Sscan(words[3], &a.left); err != nil {
			return
		}
		p.arms = append(p.arms, a)
		p.any.Store(true)
	case len(words) == 2 && words[0] == "disarm":
		p.remove(words[1])
	case len(words) == 2 && words[0] == "release":
		if wait, ok := p.held[words[1]]; ok {
			close(wait)
			delete(p.held, words[1])
		}
	}
}

func (p *points) remove(id string) {
	kept := p.arms[:0]
	for _, a := range p.arms {
		if a.id != id {
			kept = append(kept, a)
		}
	}
	p.arms = kept
	p.any.Store(len(kept) > 0)
}
