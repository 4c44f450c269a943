package sink

import (
	"context"
	"time"
)

// flushGrace is how long a Flush waits for batches that it has overtaken, so
// that one file and not two comes of it.
const flushGrace = 50 * time.Millisecond

// keepFlush seals the open file if a Flush is about it and last, the newest
// batch, completes it.
func (w *writer) keepFlush(last uint64) {
	switch {
	case w.open.batches[0].seq > w.flushed:
	case last >= w.flushed:
		w.detach()
	default:
		w.dueIn(flushGrace)
	}
}

// dueIn makes the sealer take the open file after d, if not earlier.
func (w *writer) dueIn(d time.Duration) {
	due := time.Now().Add(d)
	if !w.open.due.IsZero() && w.open.due.Before(due) {
		return
	}
	w.open.due = due
	w.age.Reset(d)
}

func (w *writer) full() bool {
	r := w.open.raw
	return r != nil && (r.Rows() >= int64(w.set.MaxFileRows) || r.Bytes() >= int64(w.set.MaxFileBytes))
}

// detach hands the open file to the sealer.
func (w *writer) detach() {
	if w.open == nil {
		return
	}
	w.queue, w.open = append(w.queue, w.open), nil
	w.age.Stop()
	w.nudge()
}

func (w *writer) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Flush implements sdk.Flusher. It does not wait.
func (w *writer) Flush(_ context.Context, seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flushed = max(w.flushed, seq)
	if w.open != nil {
		w.keepFlush(w.open.batches[len(w.open.batches)-1].seq)
	}
	return w.err
}
