//go:build faults

package faultpoint

import (
	"strings"
	"testing"
)

func TestHitStopsAtTheArmedHitOnly(t *testing.T) {
	var said []string
	p := newPoints(func(line string) { said = append(said, line) })
	if p.hit("fsync") != nil {
		t.Fatal("stopped at a point that nobody armed")
	}
	p.command(strings.Fields("arm 7 fsync 2"))
	for i, want := range []bool{false, true, false} {
		if p.hit("link") != nil {
			t.Fatal("stopped at another point")
		}
		if got := p.hit("fsync") != nil; got != want {
			t.Fatalf("hit %d: stopped = %v, want %v", i+1, got, want)
		}
	}
	if len(said) != 1 || said[0] != "reached 7 fsync" {
		t.Fatalf("reported %q", said)
	}
}

func TestDisarmedPointIsPassed(t *testing.T) {
	p := newPoints(func(string) { t.Error("reported a disarmed point") })
	for _, line := range []string{"arm 1 send 1", "disarm 1", "arm", "arm 2 send many", "nonsense"} {
		p.command(strings.Fields(line))
	}
	if p.hit("send") != nil {
		t.Fatal("stopped at a disarmed point")
	}
	if p.any.Load() {
		t.Fatal("still looks for points with none armed")
	}
}

func TestReleasedGoesOn(t *testing.T) {
	p := newPoints(func(string) {})
	p.command(strings.Fields("arm 3 copying 1"))
	released := p.hit("copying")
	p.command(strings.Fields("release 4"))
	select {
	case <-released:
		t.Fatal("went on when another was released")
	default:
	}
	for range 2 { // a second time, of one that is gone already
		p.command(strings.Fields("release 3"))
	}
	<-released
}
