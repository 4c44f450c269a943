package main

import (
	"slices"
	"testing"
)

func TestHeldLineIsParsed(t *testing.T) {
	for _, held := range [][]int64{nil, {5}, {5, 7, 1 << 40}} {
		m, ok := parseHeld(heldLine(3, 5, 1<<41, held))
		if !ok || m.Partition != 3 || m.From != 5 || m.Next != 1<<41 || !slices.Equal(m.Held, held) {
			t.Errorf("%v became %+v, %t", held, m, ok)
		}
	}
	for _, line := range []string{"", "held 1 2", "held 1 2 x", "commit 1 2 3"} {
		if m, ok := parseHeld(line); ok {
			t.Errorf("%q was taken for %+v", line, m)
		}
	}
}
