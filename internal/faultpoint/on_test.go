//go:build faults

package faultpoint

import (
	"strings"
	"testing"
)

func TestHitStopsAtTheArmedHitOnly(t *testing.T) {
	var said []string
	p := &points{report: func(line string) { said = append(said, line) }}
	if p.hit("fsync") {
		t.Fatal("stopped at a point that nobody armed")
	}
	p.command(strings.Fields("arm 7 fsync 2"))
	for i, want := range []bool{false, true, false} {
		if p.hit("link") {
			t.Fatal("stopped at another point")
		}
		if got := p.hit("fsync"); got != want {
			t.Fatalf("hit %d: stopped = %v, want %v", i+1, got, want)
		}
	}
	if len(said) != 1 || said[0] != "reached 7 fsync" {
		t.Fatalf("reported %q", said)
	}
}

func TestDisarmedPointIsPassed(t *testing.T) {
	p := &points{report: func(string) { t.Error("reported a disarmed point") }}
	for _, line := range []string{"arm 1 send 1", "disarm 1", "arm", "arm 2 send many", "nonsense"} {
		p.command(strings.Fields(line))
	}
	if p.hit("send") {
		t.Fatal("stopped at a disarmed point")
	}
	if p.any.Load() {
		t.Fatal("still looks for points with none armed")
	}
}
