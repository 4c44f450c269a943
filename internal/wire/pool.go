package wire

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

const (
	minPooled = 1 << 10
	maxPooled = MaxMessageBytes
)

// classPool recycles buffers by size and never clears them: whoever takes one
// overwrites all of it. (gRPC's own pool clears the whole capacity, which
// costs as much as the copy that follows.) There are four sizes for each power
// of two, so that a frame a little above one does not take twice its memory.
type classPool struct{ classes [4 * 32]sync.Pool }

var pool = &classPool{}

var _ mem.BufferPool = pool

// class returns the size of the buffers that hold n bytes, and their index.
func class(n int) (index, size int) {
	n = max(n, minPooled)
	k := bits.Len(uint(n - 1)) // 2^(k-1) < n <= 2^k
	step := 1 << (k - 3)
	size = (n + step - 1) / step * step
	return 4*k + (size-1<<(k-1))/step - 1, size
}

// Get returns a buffer of length n with arbitrary content.
func (p *classPool) Get(n int) *[]byte {
	if n > maxPooled {
		b := make([]byte, n)
		return &b
	}
	k, size := class(n)
	if b, ok := p.classes[k].Get().(*[]byte); ok {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, size)
	return &b
}

// Put takes back what Get returned. A buffer of any other capacity is left to
// the garbage collector.
func (p *classPool) Put(b *[]byte) {
	k, size := class(cap(*b))
	if size != cap(*b) || size > maxPooled {
		return
	}
	p.classes[k].Put(b)
}
