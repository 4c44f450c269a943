package memory

import (
	"syscall"
	"testing"
)

// The real thing: what this process takes from the system shows. It is mapped,
// because the heap may have room from before.
func TestThisProcess(t *testing.T) {
	r := &Reader{}
	before, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	const size = 64 << 20
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(b)
	for i := 0; i < size; i += 4096 {
		b[i] = 1
	}
	after, err := r.Read()
	if grown := after.Resident - before.Resident; err != nil || grown < size/2 || grown > 4*size {
		t.Errorf("%d bytes more resident after %d were used, error %v", grown, size, err)
	}
}
