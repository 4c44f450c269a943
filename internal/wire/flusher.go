package wire

import (
	"context"
	"sync"

	"github.com/twg-io/twg/sdk"
)

// flusher calls Flush on the sink. A Flush is passed on at once, beside a
// Write that may be waiting for exactly that (a sink that has no room before
// it has closed a file). If the batch that it names had not been given to
// Write by then, it is passed on again when it has.
type flusher struct {
	mu      sync.Mutex
	target  uint64 // the highest seq that was asked for
	written uint64 // the highest seq whose Write has returned
	early   uint64 // asked of the sink before it was written
	done    uint64 // asked of the sink after it was written
	changed chan struct{}
}

func newFlusher() *flusher { return &flusher{changed: make(chan struct{}, 1)} }

func (f *flusher) ask(seq uint64)   { f.set(&f.target, seq) }
func (f *flusher) wrote(seq uint64) { f.set(&f.written, seq) }

func (f *flusher) set(v *uint64, seq uint64) {
	f.mu.Lock()
	*v = max(*v, seq)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// next returns the seq to flush now; 0: none.
func (f *flusher) next() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.target > f.done && f.written >= f.target:
		f.done = f.target
	case f.target > f.early && f.target > f.done:
		f.early = f.target
	default:
		return 0
	}
	return f.target
}

func (f *flusher) run(ctx context.Context, sink sdk.Flusher) error {
	for {
		for seq := f.next(); seq > 0; seq = f.next() {
			if err := sink.Flush(ctx, seq); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
		}
	}
}
