package pipeline

import (
	"context"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// budget is the byte budget of the frames that are held (INV5):
// used + credit <= limit when credit is granted; what arrives may pass that by
// one frame, which a source may overdraw, and by the overhead of what was
// granted.
type budget struct {
	limit  int64
	frames int64 // bytes of the frames that are received and not released
	used   int64 // the same, with what they take beside
	credit int64 // granted to the open source and not used up yet
}

// itemOverhead is about what the host keeps beside a frame's bytes. It counts:
// while a sink is away, a trickle of records comes in very many small frames.
const itemOverhead = 2 << 10

// cost is what a frame of n bytes takes of the budget.
func cost(n int64) int64 { return n + itemOverhead }

// received accounts for a frame; false: it came without credit.
func (b *budget) received(n int64) bool {
	ok := b.credit > 0
	b.frames += n
	b.used += cost(n)
	b.credit -= n
	return ok
}

func (b *budget) released(n int64) {
	b.frames -= n
	b.used -= cost(n)
}

// reset forgets the credit of a source that is gone.
func (b *budget) reset() { b.credit = 0 }

// ahead bounds credit, because the overhead of the frames that will use it is
// not known yet.
func (b *budget) ahead() int64 { return max(b.limit/8, min(b.limit, 1<<20)) }

// grantable is what may be granted now. Crumbs are saved up, so that a large
// budget costs few messages; a source without credit gets any.
func (b *budget) grantable() int64 {
	n := min(b.limit-b.used, b.ahead()) - b.credit
	if n <= 0 || n < min(b.ahead()/4, 256<<10) && b.credit > 0 {
		return 0
	}
	return n
}

// grant gives the source what the budget allows. While it stops, nothing.
func (p *Pipeline) grant() {
	if p.src == nil || !p.src.isOpen() || p.stopping != nil {
		return
	}
	if n := p.budget.grantable(); n > 0 {
		p.budget.credit += n
		p.src.grant(n)
	}
}

// credit answers WaitCredit for a source in the host's own process; one in
// another process has its credit there (sdk.CreditGranter).
type credit struct {
	mu    sync.Mutex
	bytes int64
	wake  chan struct{} // closed and replaced at each change
}

func newCredit() *credit { return &credit{wake: make(chan struct{})} }

func (c *credit) add(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += n
	close(c.wake)
	c.wake = make(chan struct{})
}

func (c *credit) wait(ctx, life context.Context) (int64, error) {
	for {
		c.mu.Lock()
		n, wake := c.bytes, c.wake
		c.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-life.Done():
			return 0, errSourceOver
		}
	}
}

var errSourceOver = &sdk.Error{Op: "call the host", Kind: sdk.KindRetryable, Scope: sdk.ScopeSession, Err: context.Canceled}
