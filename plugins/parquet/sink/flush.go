package sink

import (
	"context"
	"time"
)

// flushGrace is how long a Flush waits for the next batch of those that it has
// overtaken, so that one file comes of them and not many.
const flushGrace = 50 * time.Millisecond

// keepFlush seals the open file if a Flush is about it and last, the newest
// batch, completes it.
func (w *writer) keepFlush(last uint64) {
	switch {
	case w.open.batches[0].seq > w.flushed:
	case last >= w.flushed:
		w.detach()
	default:
		w.dueIn(min(flushGrace, time.Until(w.open.old)))
	}
}

// dueIn makes the sealer take the open file after d.
func (w *writer) dueIn(d time.Duration) {
	w.open.due = time.Now().Add(d)
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
