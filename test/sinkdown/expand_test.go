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
	ceiling := w.ceiling()
	w.produce(plain, func(int) []byte { return random(200) })
	h := w.start()
	h.eventually("the first records", func() bool { return committed(h.status()) == plain })
	if f := h.status().Flow; f == nil || f.WarmUp {
		t.Fatalf("%+v: the warm-up is not over", f)
	}
	filler := bytes.Repeat([]byte("all the same "), 160)
	w.produce(dense, func(int) []byte { return append(random(8), filler...) })
	h.eventually("all records", func() bool { return committed(h.status()) == plain+dense })
	h.stop()
	w.eachOnce(plain + dense)
	h.staysBelow(t, ceiling)
}

func random(n int) []byte {
	b := make([]byte, (n+7)/8*8)
	for i := 0; i < n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rand.Uint64())
	}
	return b[:n]
}
