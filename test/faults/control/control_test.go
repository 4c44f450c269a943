package control

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"
)

// fake is a process as the server sees it.
type fake struct {
	net.Conn
	lines *bufio.Scanner
}

func dial(t *testing.T, path, hello string) fake {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	fmt.Fprintln(c, hello)
	return fake{c, bufio.NewScanner(c)}
}

func (f fake) want(t *testing.T, line string) {
	t.Helper()
	_ = f.SetReadDeadline(time.Now().Add(5 * time.Second))
	if !f.lines.Scan() || f.lines.Text() != line {
		t.Fatalf("process was told %q (%v), want %q", f.lines.Text(), f.lines.Err(), line)
	}
}

func TestArmGoesToTheRoleAlsoWhenItStartsLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	sink := func(p Process) bool { return p.Role == "sink" }

	host := dial(t, path, "hello host 10 1")
	if _, err := s.WaitLive(ctx, func(p Process) bool { return p.Role == "host" }); err != nil {
		t.Fatal(err)
	}
	first := s.Arm("fsync", 2, sink)
	late := dial(t, path, "hello sink 11 10")
	late.want(t, fmt.Sprintf("arm %d fsync 2", first))
	second := s.Arm("link", 1, sink)
	late.want(t, fmt.Sprintf("disarm %d", first))
	late.want(t, fmt.Sprintf("arm %d link 1", second))
	host.want(t, fmt.Sprintf("disarm %d", first))

	fmt.Fprintf(late, "reached %d fsync\n", first) // too late: taken back
	fmt.Fprintf(late, "reached %d link\n", second)
	r, err := s.Wait(ctx, second)
	if err != nil {
		t.Fatal(err)
	}
	s.Release(r)
	late.want(t, fmt.Sprintf("disarm %d", second))
	late.want(t, fmt.Sprintf("release %d", second))
	next := dial(t, path, "hello sink 12 10") // replaces the victim
	third := s.Arm("close", 1, sink)
	next.want(t, fmt.Sprintf("arm %d close 1", third))
	if want := (Reached{Process{"sink", 11, 10}, second, "link"}); r != want {
		t.Fatalf("reached %+v, want %+v", r, want)
	}
}
