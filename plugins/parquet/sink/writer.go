package sink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// writer is a session. Write fills the open file; one goroutine, seal, makes
// commits of full ones, in order. At most two files hold row groups at a
// time: the one that is being sealed, and either the open one or one that
// waits.
type writer struct {
	log *dirlog.Log
	set Settings
	ses sdk.Session
	opt rawfile.Options

	stop context.CancelFunc // ends the sealer's waits
	wake chan struct{}      // the sealer has something to do
	age  *time.Timer        // the open file is old
	done chan struct{}      // the sealer has ended

	mu      sync.Mutex
	open    *file   // gets rows
	queue   []*file // full; at most one
	sealing *file
	free    []*rawfile.Writer
	moved   chan struct{} // closed, and replaced, when the queue or err changed
	flushed uint64        // newest seq that Flush asked for
	closing bool          // no Write any more; the sealer ends once all is sealed
	err     error         // the session is over

	reporting sync.Mutex
	silent    bool // no Report any more
}

var errAborted = errors.New("the session was aborted")

func newWriter(l *dirlog.Log, set Settings, ses sdk.Session) (*writer, error) {
	opt, err := set.rawOptions()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &writer{
		log: l, set: set, ses: ses, opt: opt, stop: stop,
		wake:  make(chan struct{}, 1),
		age:   time.NewTimer(set.MaxFileAge),
		done:  make(chan struct{}),
		moved: make(chan struct{}),
	}
	w.age.Stop()
	go w.seal(ctx)
	return w, nil
}

// Write implements sdk.Writer. It copies what it needs of b.
func (w *writer) Write(ctx context.Context, b *sdk.Batch) error {
	if err := w.waitRoom(ctx); err != nil { // holds w.mu if there is room
		return err
	}
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = newFile()
		w.dueIn(w.set.MaxFileAge)
	}
	if err := w.add(b); err != nil {
		w.end(err)
		w.silence()
		return fmt.Errorf("write batch %d to %s: %w", b.Seq, w.log.Path(), err)
	}
	faultpoint.Hit("write")
	if w.full() || w.ses.Granularity == sdk.GranularityRecord {
		w.detach()
	} else {
		w.keepFlush(b.Seq)
	}
	return nil
}

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

// waitRoom waits until no full file waits, and locks w.mu.
func (w *writer) waitRoom(ctx context.Context) error {
	for {
		w.mu.Lock()
		switch {
		case w.err != nil:
			defer w.mu.Unlock()
			return w.err
		case w.closing:
			defer w.mu.Unlock()
			return errors.New("write after close")
		case len(w.queue) == 0:
			return nil
		}
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add writes b's missing rows to the open file.
func (w *writer) add(b *sdk.Batch) error {
	if err := check(b); err != nil {
		return err
	}
	missing := make([][]coverage.Interval, len(b.Spans))
	for i, s := range b.Spans {
		missing[i] = w.missing(s)
	}
	if b.Rows != nil {
		if err := checkLeftOut(b, missing); err != nil {
			return err
		}
	}
	for _, r := range b.RowRanges() {
		rs, err := runs(b, r.From, r.To)
		if err != nil {
			return err
		}
		for _, r := range rs {
			if err := w.addRun(b, r, missing[r.span]); err != nil {
				return err
			}
		}
	}
	w.open.add(b, missing)
	return nil
}

// missing returns the parts of s that neither the log nor a file on its way
// holds. The log comes first: a file gets into the log before it leaves.
func (w *writer) missing(s sdk.Span) []coverage.Interval {
	out := w.log.Missing(s.Stream, coverage.Interval{From: s.From, Next: s.Next})
	for _, f := range append([]*file{w.sealing, w.open}, w.queue...) {
		if f != nil {
			out = f.subtract(s.Stream, out)
		}
	}
	return out
}

func (w *writer) addRun(b *sdk.Batch, r run, missing []coverage.Interval) error {
	for _, m := range missing {
		from, to := r.within(b, m)
		if from == to {
			continue
		}
		if err := w.ensure(w.open); err != nil {
			return err
		}
		if err := w.open.raw.Append(b.Frame, b.IDs, b.Spans[r.span].Stream, from, to); err != nil {
			return err
		}
	}
	return nil
}

// ensure gives f a temporary file and an encoder.
func (w *writer) ensure(f *file) error {
	if f.temp != nil {
		return nil
	}
	t, err := w.log.Temp()
	if err != nil {
		return err
	}
	f.temp = t
	if n := len(w.free); n > 0 {
		f.raw, w.free = w.free[n-1], w.free[:n-1]
	} else {
		f.raw = rawfile.NewWriter(w.opt)
	}
	f.raw.Reset(t)
	return nil
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
