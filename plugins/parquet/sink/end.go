package sink

import (
	"context"
	"errors"
)

var errAborted = errors.New("the session was aborted")

// Close implements sdk.Writer.
func (w *writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	w.detach()
	w.nudge()
	w.mu.Unlock()
	select {
	case <-w.done:
		w.silence()
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-ctx.Done():
		w.abort()
		return ctx.Err()
	}
}

// abort ends the session without a Report. The sealer may still be in a
// system call; done says when it has left.
func (w *writer) abort() {
	w.silence()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(errAborted)
}

// end gives up what is not committed and lets the sealer end. w.mu is held.
func (w *writer) end(err error) {
	if w.err != nil {
		return
	}
	w.err = err
	w.stop()
	w.age.Stop()
	w.drop()
}

// drop gives up the files that the sealer has not taken.
func (w *writer) drop() []*file {
	files := w.queue
	if w.open != nil {
		files = append(files, w.open)
	}
	w.queue, w.open = nil, nil
	for _, f := range files {
		f.discard()
	}
	close(w.moved)
	w.moved = make(chan struct{})
	return files
}
