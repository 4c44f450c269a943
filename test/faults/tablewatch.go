package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// tableWatch compares committed offsets with the raw table while the run goes
// on.
type tableWatch struct {
	reader *table.Reader
	begun  time.Time
	owners bool
	judged map[int32]int64 // everything below was looked for

	mu      sync.Mutex
	moments []verify.Moment
	stale   int
}

func newTableWatch(dsn string) *tableWatch {
	return &tableWatch{reader: table.NewReader(dsn), begun: time.Now(), judged: map[int32]int64{}}
}

// observe looks for what lies below the committed offsets and was not looked
// for yet. While the database is away nothing is seen; the next time makes up
// for it, and only helps the product.
func (t *tableWatch) observe(ctx context.Context, committed map[int32]int64) {
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	if !t.owners {
		t.owners, _ = t.reader.WatchOwners(ctx)
	}
	changed := false
	for p, next := range committed {
		from := t.judged[p]
		if next <= from {
			continue
		}
		held, err := t.reader.Held(ctx, p, from, next)
		if err != nil {
			return
		}
		t.judged[p], changed = next, true
		t.add(p, from, next, held)
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

func (t *tableWatch) add(partition int32, from, next int64, held []int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moments = append(t.moments, verify.Moment{
		Span: verify.Span{Partition: partition, From: from, Next: next},
		When: fmt.Sprintf("%.2fs", time.Since(t.begun).Seconds()), Held: held,
	})
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

// hear takes what the broker saw at a commit request.
func (t *tableWatch) hear(m verify.Moment) { t.add(m.Partition, m.From, m.Next, m.Held) }
