package control

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
)

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() { s.serve(c) })
	}
}

func (s *Server) serve(c net.Conn) {
	defer c.Close()
	lines := bufio.NewScanner(c)
	if !lines.Scan() {
		return
	}
	p, err := hello(lines.Text())
	if err != nil {
		return
	}
	s.set(p, c)
	defer s.set(p, nil)
	for lines.Scan() {
		var r Reached
		if n, _ := fmt.Sscanf(lines.Text(), "reached %d %s", &r.ID, &r.Point); n == 2 {
			r.Process = p
			s.took(r.ID)
			select {
			case s.reached <- r:
			default: // nobody has asked for 64 reports: they are old ones
			}
		}
	}
}

// took disarms what was reached: the process that replaces the victim must not
// stop there too.
func (s *Server) took(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed != nil && s.armed.id == id {
		s.disarm()
	}
}

func (s *Server) set(p Process, c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil {
		delete(s.live, p)
	} else {
		s.live[p] = c
		s.tell(p, c)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func hello(line string) (Process, error) {
	w := strings.Fields(line)
	if len(w) != 4 || w[0] != "hello" {
		return Process{}, fmt.Errorf("read hello %q: not a greeting", line)
	}
	pid, err := strconv.Atoi(w[2])
	if err != nil {
		return Process{}, err
	}
	parent, err := strconv.Atoi(w[3])
	return Process{w[1], pid, parent}, err
}
