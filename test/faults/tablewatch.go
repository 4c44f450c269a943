package main

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// tableWatch compares the positions that somebody relies on with the raw table
// while the run goes on.
type tableWatch struct {
	reader   *table.Reader // the sampling goroutine's
	owners   bool
	samples  *lookout
	requests *lookout

	mu      sync.Mutex
	moments []verify.Moment
	stale   int
}

func newTableWatch(dsn string) *tableWatch {
	t := &tableWatch{reader: table.NewReader(dsn)}
	t.samples, t.requests = newLookout(dsn, t.take), newLookout(dsn, t.take)
	return t
}

func (t *tableWatch) close() {
	t.reader.Close()
	t.samples.close()
	t.requests.close()
}

// observe takes committed offsets that were read just now.
func (t *tableWatch) observe(ctx context.Context, committed map[int32]int64, changed bool) {
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	if !t.owners {
		t.owners, _ = t.reader.WatchOwners(ctx)
	}
	for p, next := range committed {
		t.samples.relied(ctx, whyNow, p, next)
	}
	if changed && t.owners {
		t.countStale(ctx)
	}
}

func (t *tableWatch) countStale(ctx context.Context) {
	stale, err := t.reader.Stale(ctx)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stale = len(stale)
}

// frontier is what the offset store says is held without a hole.
func (t *tableWatch) frontier(ctx context.Context) map[int32]int64 {
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	held, voids, err := t.reader.Coverage(ctx)
	if err != nil {
		return nil // the store is not there yet, or away
	}
	return verify.Frontier(append(held, voids...))
}

// settleEvery is how often settle asks a database that is not back yet.
const settleEvery = 100 * time.Millisecond

// settle judges what came while the database was away, and reports how much
// could not be judged before ctx ended.
func (t *tableWatch) settle(ctx context.Context) int {
	for {
		left := t.samples.settle(ctx) + t.requests.settle(ctx)
		if left == 0 {
			return 0
		}
		select {
		case <-time.After(settleEvery):
		case <-ctx.Done():
			return left
		}
	}
}

func (t *tableWatch) take(m verify.Moment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moments = append(t.moments, m)
}

func (t *tableWatch) led(real []verify.Place) verify.Findings {
	t.mu.Lock()
	defer t.mu.Unlock()
	return verify.LedTable(t.moments, real)
}

// wrote is how many transactions of others than the owner there are.
func (t *tableWatch) wrote() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stale
}

func (t *tableWatch) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.moments)
}
