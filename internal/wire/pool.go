package wire

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
)

const (
	minClass = 10 // 1 KiB
	maxClass = 28 // 256 MiB, the largest message
)

// classPool recycles buffers by powers of two and never clears them: whoever
// takes one overwrites all of it. (gRPC's own pool clears the whole capacity,
// which costs as much as the copy that follows.)
type classPool struct{ classes [maxClass + 1]sync.Pool }

var pool = &classPool{}

var _ mem.BufferPool = pool

func class(n int) int { return max(bits.Len(uint(max(n, 1)-1)), minClass) }

// Get returns a buffer of length n with arbitrary content.
func (p *classPool) Get(n int) *[]byte {
	k := class(n)
	if k > maxClass {
		b := make([]byte, n)
		return &b
	}
	if b, ok := p.classes[k].Get().(*[]byte); ok {
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n, 1<<k)
	return &b
}

// Put takes back what Get returned. A buffer of any other capacity is left to
// the garbage collector.
func (p *classPool) Put(b *[]byte) {
	k := class(cap(*b))
	if k > maxClass || cap(*b) != 1<<k {
		return
	}
	p.classes[k].Put(b)
}
