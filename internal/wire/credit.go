package wire

import (
	"context"
	"math"
	"sync"
)

// credit is how much one side may still send: bytes and, where batches are
// counted too, batches. While both are positive one batch may overdraw.
type credit struct {
	mu      sync.Mutex
	bytes   int64
	batches int64
	changed chan struct{} // closed and replaced when credit is added
}

// newCredit starts with nothing. Without batches counted there are always
// enough of them.
func newCredit(countBatches bool) *credit {
	c := &credit{changed: make(chan struct{})}
	if !countBatches {
		c.batches = math.MaxInt64 / 2
	}
	return c
}

// add returns a protocol error for amounts that are no amounts.
func (c *credit) add(bytes, batches int64) error {
	if bytes < 0 || batches < 0 {
		return violation("credit of %d bytes and %d batches is negative", bytes, batches)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes, c.batches = saturate(c.bytes, bytes), saturate(c.batches, batches)
	close(c.changed)
	c.changed = make(chan struct{})
	return nil
}

func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// spend takes a batch of n bytes; false: there was no credit at all.
func (c *credit) spend(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes <= 0 || c.batches <= 0 {
		return false
	}
	c.bytes -= n
	c.batches--
	return true
}

// wait blocks until there is credit and returns the bytes that are left.
// Either context ends it.
func (c *credit) wait(ctx, life context.Context) (int64, error) {
	for {
		c.mu.Lock()
		bytes, open, changed := c.bytes, c.bytes > 0 && c.batches > 0, c.changed
		c.mu.Unlock()
		if open {
			return bytes, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-life.Done():
			return 0, context.Cause(life)
		}
	}
}

// take waits for credit and spends it.
func (c *credit) take(ctx, life context.Context, n int64) error {
	for {
		if _, err := c.wait(ctx, life); err != nil {
			return err
		}
		if c.spend(n) {
			return nil
		}
	}
}
