// Package control is the harness's end of the fault points: it knows which
// processes live, arms points in them and hears when one is reached.
package control

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Process is a process that was built with fault points and has said hello.
type Process struct {
	Role   string
	PID    int
	Parent int
}

// Reached says that a process stands at the point that was armed under ID.
type Reached struct {
	Process
	ID    int
	Point string
}

// Server listens on a unix socket. Its methods may be called from any
// goroutine.
type Server struct {
	ln net.Listener
	wg sync.WaitGroup

	mu      sync.Mutex
	live    map[Process]net.Conn
	armed   *armed
	nextID  int
	reached chan Reached
	changed chan struct{} // closed and replaced when live changes
}

// armed is the one point that the harness waits for.
type armed struct {
	id    int
	point string
	hits  int
	who   func(Process) bool
}

// Listen opens the socket at path, which must not exist.
func Listen(path string) (*Server, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen for fault points: %w", err)
	}
	s := &Server{ln: ln, live: map[Process]net.Conn{}, reached: make(chan Reached, 64), changed: make(chan struct{})}
	s.wg.Go(s.accept)
	return s, nil
}

// Close hangs up on every process and waits for the server's goroutines.
func (s *Server) Close() {
	s.ln.Close()
	s.mu.Lock()
	for _, c := range s.live {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// Arm replaces what is armed: from now on, the first process for which who
// holds and that comes to the point for the hits'th time stops there. Processes
// that start later are told too. It returns the id that Reached will carry.
func (s *Server) Arm(point string, hits int, who func(Process) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disarm()
	s.nextID++
	s.armed = &armed{s.nextID, point, hits, who}
	for p, c := range s.live {
		s.tell(p, c)
	}
	return s.nextID
}

// Disarm takes back what is armed.
func (s *Server) Disarm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disarm()
}

func (s *Server) disarm() {
	if s.armed == nil {
		return
	}
	for _, c := range s.live {
		fmt.Fprintf(c, "disarm %d\n", s.armed.id)
	}
	s.armed = nil
}

func (s *Server) tell(p Process, c net.Conn) {
	if a := s.armed; a != nil && a.who(p) {
		fmt.Fprintf(c, "arm %d %s %d\n", a.id, a.point, a.hits)
	}
}

// Wait returns the process that reached the point armed under id.
func (s *Server) Wait(ctx context.Context, id int) (Reached, error) {
	for {
		select {
		case r := <-s.reached:
			if r.ID == id {
				return r, nil
			}
		case <-ctx.Done():
			return Reached{}, ctx.Err()
		}
	}
}

// Release lets a process that stands at a point go on.
func (s *Server) Release(r Reached) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.live[r.Process]; c != nil {
		fmt.Fprintf(c, "release %d\n", r.ID)
	}
}

// Live returns the processes that are connected and for which who holds.
func (s *Server) Live(who func(Process) bool) []Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Process
	for p := range s.live {
		if who(p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return a.PID - b.PID })
	return out
}

// WaitLive waits until at least one process for which who holds is there.
func (s *Server) WaitLive(ctx context.Context, who func(Process) bool) ([]Process, error) {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if live := s.Live(who); len(live) > 0 {
			return live, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
