package source

import (
	"context"
	"log/slog"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// reader is an open source. Its goroutines, all ended by Close: scan, announce
// and one serve a file that is read at a time.
type reader struct {
	set     *Settings
	log     *slog.Logger
	events  sdk.Events
	limits  sdk.Limits
	table   *table
	root    root
	buffers buffers
	// mostHeld is maxHeld, but for tests.
	mostHeld int

	lookAgain chan struct{} // one slot: do not wait for the next look

	cancel  context.CancelFunc
	wg      sync.WaitGroup
	closing sync.Once
}

func open(set *Settings, log *slog.Logger, ev sdk.Events, mostHeld int) *reader {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{
		set: set, log: log, events: ev, limits: ev.Limits(), table: newTable(), root: newRoot(set), mostHeld: mostHeld,
		lookAgain: make(chan struct{}, 1), cancel: cancel,
	}
	r.wg.Go(func() { r.scan(ctx) })
	r.wg.Go(func() { r.announce(ctx) })
	for range set.Readers {
		r.wg.Go(func() { r.serve(ctx) })
	}
	return r
}

// fail ends the source, unless it is being closed.
func (r *reader) fail(ctx context.Context, err error) {
	if ctx.Err() == nil {
		r.events.Fail(err)
	}
}

// Start implements sdk.Reader.
func (r *reader) Start(ctx context.Context, starts []sdk.Start) error {
	for _, s := range starts {
		if s.Position < 0 || s.Position >= sdk.MaxPosition {
			return sdk.Errorf(sdk.KindFatal, "start "+s.Stream.String(), "%d is not a position", s.Position)
		}
	}
	return r.table.start(ctx, starts)
}

// Commit implements sdk.Reader.
func (r *reader) Commit(_ context.Context, marks []sdk.Mark) []error {
	var out []error
	for i, m := range marks {
		if err := r.table.commit(m); err != nil {
			if out == nil {
				out = make([]error, len(marks))
			}
			out[i] = err
		}
	}
	return out
}

// Drop implements sdk.Reader.
func (r *reader) Drop(ctx context.Context, runs []uint64) error { return r.table.drop(ctx, runs) }

// Close implements sdk.Reader. Nothing is reported once it has returned.
func (r *reader) Close(context.Context) error {
	r.closing.Do(func() {
		r.cancel()
		r.wg.Wait()
	})
	return nil
}
