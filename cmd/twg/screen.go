package main

import (
	"io"
	"sync"

	"github.com/mattn/go-isatty"
	"golang.org/x/sys/unix"
)

// screen is stderr with at most one line at its end that is written over and
// over. What else is written appears above it. On anything but a terminal
// there is no such line.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	width    func() int // of the terminal, in columns; 0: not known
	line     string
}

func newScreen(w io.Writer) *screen {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return &screen{w: w}
	}
	return &screen{w: w, terminal: true, width: func() int {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return 0
		}
		return int(size.Col)
	}}
}

const eraseLine = "\r\x1b[K"

// Write implements io.Writer for logs: p is whole lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" {
		return s.w.Write(p)
	}
	text := append([]byte(eraseLine), p...)
	if _, err := s.w.Write(append(text, s.line...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the line at the end. What the terminal has no room for is cut
// off: a line that was wrapped could not be erased.
func (s *screen) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.width(); n > 0 && len(line) >= n {
		line = line[:n-1]
	}
	s.line = line
	io.WriteString(s.w, eraseLine+line)
}

// keep leaves the line where it is, and writes go below it.
func (s *screen) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line != "" {
		s.line = ""
		io.WriteString(s.w, "\n")
	}
}
