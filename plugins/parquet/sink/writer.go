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
		w.open.old = time.Now().Add(w.set.MaxFileAge)
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
