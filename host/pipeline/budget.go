package pipeline

import (
	"context"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// budget is the byte budget of the frames that are held (INV5):
// used + credit <= limit, but for the one frame that a source may overdraw.
type budget struct {
	limit  int64
	used   int64 // frames received and not released
	credit int64 // granted to the open source and not used up yet
}

// received accounts for a frame; false: it came without credit.
func (b *budget) received(n int64) bool {
	ok := b.credit > 0
	b.used += n
	b.credit -= n
	return ok
}

func (b *budget) released(n int64) { b.used -= n }

// reset forgets the credit of a source that is gone.
func (b *budget) reset() { b.credit = 0 }

// grantable is what may be granted now. Crumbs are saved up, so that a large
// budget costs few messages; a source without credit gets any.
func (b *budget) grantable() int64 {
	n := b.limit - b.used - b.credit
	if n <= 0 || n < min(b.limit/8, 256<<10) && b.credit > 0 {
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
