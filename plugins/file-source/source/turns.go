package source

import (
	"context"
	"time"
)

// turn is a file in the hands of a reader. cancel ends it, done says that it
// has.
type turn struct {
	file  *file
	run   uint64
	from  int64
	path  string
	since time.Time // the file's
	// first: nothing of the run was looked at before.
	first      bool
	last, gone bool // the file's
	cancel     context.CancelFunc
	done       chan struct{}
}

// take waits for a file that has something to read, and gives it to the
// caller, who must call endTurn.
func (t *table) take(ctx context.Context) (tn *turn, turnCtx context.Context, err error) {
	err = t.await(ctx, func() bool {
		if len(t.ready) == 0 {
			return false
		}
		f := t.ready[0]
		t.ready = t.ready[1:]
		f.queued, f.dirty = false, false
		tn = &turn{file: f, run: f.run, from: f.next, path: f.path, since: f.since, first: !f.caught, last: f.last, gone: f.gone, done: make(chan struct{})}
		turnCtx, tn.cancel = context.WithCancel(ctx)
		f.turn = tn
		return true
	})
	return tn, turnCtx, err
}

// endTurn gives a file back. more: it is known to have more to read.
func (t *table) endTurn(tn *turn, more bool) {
	tn.cancel()
	t.locked(func() {
		f := tn.file
		f.turn = nil
		if f.dirty || more {
			f.dirty = false
			t.offer(f)
		}
		close(tn.done)
	})
}

// delivered notes how far a turn has come. false: its run is over, and
// nothing of it may be sent.
func (t *table) delivered(tn *turn, next int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tn.file.state != started || tn.file.run != tn.run {
		return false
	}
	tn.file.next = next
	return true
}

// finish is called before the host can see that it has all that a file holds.
// A host that runs until it has caught up ends when it has caught up with every
// stream that it knows: so it waits until the host has another one to catch up
// with, or knows all that there are.
func (t *table) finish(ctx context.Context, tn *turn) error {
	return t.await(ctx, func() bool {
		f := tn.file
		switch {
		case f.state != started || f.run != tn.run || f.caught:
			return true
		case t.behind > 1, !t.looking && len(t.waiting) == 0 && t.unstarted == 0:
			f.caught = true
			t.behind--
			return true
		}
		return false
	})
}
