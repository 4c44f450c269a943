package memory

import (
	"runtime"
	"testing"
)

// The real thing: what this process allocates shows.
func TestThisProcess(t *testing.T) {
	r := &Reader{}
	before, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	b := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	after, err := r.Read()
	if grown := after.Resident - before.Resident; err != nil || grown < size/2 || grown > 4*size {
		t.Errorf("%d bytes more resident after %d were used, error %v", grown, size, err)
	}
	runtime.KeepAlive(b)
}
