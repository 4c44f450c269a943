package wire

import (
	"context"
	"sync"
)

// life owns the goroutines of one stream. The first of them that fails ends
// all.
type life struct {
	ctx    context.Context // ends with the stream; its cause is the first error
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

func newLife(ctx context.Context) *life {
	l := &life{}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	return l
}

// run starts a goroutine; an error that it returns ends the life.
func (l *life) run(f func() error) {
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		if err := f(); err != nil {
			l.cancel(err)
		}
	}()
}

// end cancels and waits.
func (l *life) end(cause error) {
	l.cancel(cause)
	l.wg.Wait()
}

// cause is why the life ended; nil while it has not.
func (l *life) cause() error { return context.Cause(l.ctx) }

// ended is a context that has ended: what Close is given when there is nothing
// left to finish.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
