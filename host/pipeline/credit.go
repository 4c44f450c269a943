package pipeline

import (
	"context"
	"sync"

	"github.com/twg-io/twg/sdk"
)

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
