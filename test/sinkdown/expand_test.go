//go:build services

package sinkdown

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// INV5: records that cannot be compressed, then, long after the warm-up, ones
// that expand a hundredfold.
func TestExpansion(t *testing.T) {
	const plain, dense = 200_000, 150_000
	w := newWorld(t, "16MiB")
	plan := w.plan()
	w.produce(plain, func(int) []byte { return random(200) })
	h := w.start()
	h.Eventually("the first records", func() bool { return committed(h.status()) == plain })
	if f := h.status().Flow; f == nil || f.WarmUp {
		t.Fatalf("%+v: the warm-up is not over", f)
	}
	before := h.status().Flow.Expansion
	filler := bytes.Repeat([]byte("all the same "), 160)
	w.produce(dense, func(int) []byte { return append(random(8), filler...) })
	h.Eventually("all records", func() bool { return committed(h.status()) == plain+dense })
	if now := h.status().Flow.Expansion; now < 100 {
		t.Errorf("the ratio was %.1f and is %.1f: these records do not expand a hundredfold", before, now)
	} else {
		t.Logf("the ratio was %.1f and is %.1f", before, now)
	}
	h.Stop()
	w.eachOnce(plain + dense)
	h.keptTo(plan)
}

func random(n int) []byte {
	b := make([]byte, (n+7)/8*8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rand.Uint64())
	}
	return b[:n]
}
