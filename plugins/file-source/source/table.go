package source

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// state is where a file's stream stands between this source and the host.
type state uint8

const (
	// waiting: there is something to read, and the host is to be told.
	waiting state = iota
	// announced: the host has been told; its Start is waited for.
	announced
	// started: a run is open.
	started
	// resting: the host was asked to forget it, because all of it is durable;
	// it is told again when there is more.
	resting
)

// file is one file of one identity, and its stream. The table guards it.
type file struct {
	stream sdk.Stream
	as     string // the name that says what it is compressed with
	path   string // where it lies now
	seen   seen
	since  time.Time // when it was first seen as it is now

	state state
	run   uint64 // of state started
	// next is how far the run was delivered; durable how far the host says
	// that everything is.
	next, durable int64
	// queued: it waits for a reader. dirty: it has changed while it could not
	// be queued.
	queued, dirty bool
	turn          *turn
	// fresh: it was announced and not started since.
	fresh bool
	// caught: the host was given, or is just being given, all that the file
	// held when its run began.
	caught bool
	// suspect: it has an end that may not be its last, and is tried again when
	// nobody writes to it any more.
	suspect bool
	// strayed: it was not found at its path.
	strayed bool
	// last: it lies elsewhere, where it is read to its end once. gone: there is
	// nothing to read any more. ended: the host was told so, and is to give it
	// up.
	last, gone, ended bool
	// leaving: the host is being asked to give it up.
	leaving bool
}

// table knows what each stream is up to. It does no I/O. Safe for concurrent
// use.
type table struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced when anything changes

	streams map[sdk.Stream]*file
	waiting []*file            // in the order in which they are announced
	ready   []*file            // started, with something to read
	held    map[*file]struct{} // announced or started
	// unstarted counts the fresh ones, behind those that are started but not
	// caught.
	unstarted, behind int
	suspects          []*file
	// looking: the first look at the directory is not over.
	looking bool
}

func newTable() *table {
	return &table{changed: make(chan struct{}), streams: map[sdk.Stream]*file{}, held: map[*file]struct{}{}, looking: true}
}

// wake says that something has changed. The table is locked.
func (t *table) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// await waits until ok, which is called with the table locked and may change
// it.
func (t *table) await(ctx context.Context, ok func() bool) error {
	for {
		t.mu.Lock()
		if ok() {
			t.mu.Unlock()
			return nil
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// locked calls f with the table locked, and says that something has changed.
func (t *table) locked(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f()
	t.wake()
}

// add takes a file with a stream that is not known yet.
func (t *table) add(f *file) {
	t.locked(func() {
		t.streams[f.stream] = f
		t.wait(f)
	})
}

// wait puts a file among those that are to be announced. The table is locked.
func (t *table) wait(f *file) {
	f.state, f.dirty = waiting, false
	t.waiting = append(t.waiting, f)
}

// looked says that the first look at the directory is over.
func (t *table) looked() { t.locked(func() { t.looking = false }) }

// of returns a stream's file; nil: there is none.
func (t *table) of(s sdk.Stream) *file {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams[s]
}

// where is a file's path, and the name that says what it is compressed with.
func (t *table) where(f *file) (path, as string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.path, f.as
}

// changedAt says that a file looks different now, lies elsewhere, or is there
// again.
func (t *table) changedAt(f *file, path string, s seen) {
	t.locked(func() {
		f.path, f.seen, f.since = path, s, time.Now()
		f.strayed, f.last, f.gone, f.ended, f.suspect = false, false, false, false, false
		t.offer(f)
	})
}

// offer lets a file be read again. The table is locked.
func (t *table) offer(f *file) {
	switch {
	case f.state == resting:
		t.wait(f)
	case f.turn != nil || f.leaving:
		f.dirty = true
	case f.state == started && !f.queued:
		f.queued = true
		t.ready = append(t.ready, f)
	}
}
