package source

import "sync"

// budget bounds the bytes that were asked of brokers and not yet sent on.
type budget struct {
	most int64 // whatever the credit

	mu      sync.Mutex
	used    int64
	changed chan struct{}
}

func newBudget(most int64) *budget { return &budget{most: most, changed: make(chan struct{})} }

// minFetch is the least that is worth a request while others wait to be sent.
const minFetch = 64 << 10

// reserve takes up to want bytes of what the host's credit leaves. Zero: none
// are left now; the channel is closed when that may have changed. With
// nothing reserved at all it always gives something, so that there is
// progress on any positive credit.
func (b *budget) reserve(credit, want int64) (int64, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := min(credit, b.most) - b.used
	if b.used == 0 {
		left = max(left, minFetch)
	}
	if left < min(want, minFetch) {
		return 0, b.changed
	}
	// The last of many brokers still get something.
	n := min(want, left, max((b.most-b.used)/2, minFetch))
	b.used += n
	return n, nil
}

// add changes what is reserved: by what a response brought beyond (or short
// of) its reservation, and back once it was sent on.
func (b *budget) add(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	close(b.changed)
	b.changed = make(chan struct{})
}
