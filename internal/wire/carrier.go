package wire

import "google.golang.org/grpc/mem"

// carrier moves a batch's payload. Inline, in the message, is the one that
// every plugin must have; a shared-memory slot can be another.
type carrier interface {
	// attach returns the buffers of a message: head, then the payload. release
	// is called once when the payload's memory is no longer read.
	attach(head *[]byte, payload []byte, release func()) mem.BufferSlice
	// take returns the payload of n bytes at r, in memory that recycle takes.
	take(r *reader, n int) []byte
}

// inline carries a payload in the message itself.
type inline struct{}

// smallPayload is what is cheaper to copy than to send as a buffer of its own
// (gRPC does not count references of buffers below its own threshold).
const smallPayload = 4 << 10

func (inline) attach(head *[]byte, payload []byte, release func()) mem.BufferSlice {
	if len(payload) < smallPayload {
		*head = append(*head, payload...)
		release()
		return mem.BufferSlice{mem.NewBuffer(head, pool)}
	}
	return mem.BufferSlice{mem.NewBuffer(head, pool), mem.NewBuffer(&payload, onFree(release))}
}

func (inline) take(r *reader, n int) []byte {
	b := pool.Get(n)
	r.copy(*b)
	return *b
}

// recycle gives a payload's memory back.
func recycle(payload []byte) {
	if payload != nil {
		pool.Put(&payload)
	}
}

// onFree is a pool that is told when the last reference to a buffer is gone.
type onFree func()

func (f onFree) Get(n int) *[]byte { return pool.Get(n) }
func (f onFree) Put(*[]byte)       { f() }
