package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSaidBoth(t *testing.T) {
	log := filepath.Join(t.TempDir(), "host.log")
	text := `--- faults: a rival of process 71 starts
halting: stream t/0 was taken over: it was acquired by "vm process 182" (epoch 4). This host (vm process 71) had it before
stream t/0 was taken over by process 9
process 8 and process 9
`
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loser, winner int
		want          bool
	}{{71, 182, true}, {71, 18, false}, {7, 182, false}, {8, 9, false}, {71, 9, false}} {
		if got := saidBoth(log, c.loser, c.winner); got != c.want {
			t.Errorf("%d lost to %d: %t", c.loser, c.winner, got)
		}
	}
}
