package main

import (
	"context"

	"github.com/twg-io/twg/test/faults/verify"
)

// change returns a channel that is closed when a committed offset changes.
func (w *watcher) change() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved
}

// isPast reports whether every partition is committed further than it was.
func (w *watcher) isPast(was map[int32]int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range int32(partitions) {
		if w.committed[p] <= was[p] {
			return false
		}
	}
	return true
}

// waitReached waits until the committed offsets are at least want.
func (w *watcher) waitReached(ctx context.Context, want map[int32]int64) error {
	reached := func() bool {
		at := w.frontier()
		for p, next := range want {
			if at[p] < next {
				return false
			}
		}
		return true
	}
	return w.wait(ctx, reached)
}

// wait looks at done again whenever a commit has moved on.
func (w *watcher) wait(ctx context.Context, done func() bool) error {
	for {
		moved := w.change()
		if done() {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// led judges the samples so far.
func (w *watcher) led(real []verify.Place) verify.Findings {
	if w.table != nil {
		return w.table.led(real)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return verify.Led(w.samples, w.seen, real)
}

// frontier returns the committed offsets.
func (w *watcher) frontier() map[int32]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[int32]int64{}
	for p, next := range w.committed {
		out[p] = next
	}
	return out
}

// stale is how many transactions of others than a stream's owner the table has.
func (w *watcher) stale() int {
	if w.table == nil {
		return 0
	}
	return w.table.wrote()
}

// doubled is how many rows an earlier file held already.
func (w *watcher) doubled() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.twice
}

// moments is how many samples led judges.
func (w *watcher) moments() int {
	if w.table != nil {
		return w.table.count()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.samples)
}
