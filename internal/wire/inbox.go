package wire

import (
	"context"
	"sync"
)

const (
	// dataCap bounds how many batches wait for the host; credit bounds their
	// bytes.
	dataCap = 1 << 16
	// controlCap bounds how many other events do.
	controlCap = 4096
)

// inbox hands events on in order, from a goroutine of its own.
type inbox struct {
	cap int

	mu      sync.Mutex
	waiting []func(context.Context) error
	changed chan struct{}
}

func newInbox(cap int) *inbox { return &inbox{cap: cap, changed: make(chan struct{}, 1)} }

func (i *inbox) put(f func(context.Context) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.waiting) >= i.cap {
		return violation("more than %d events wait for the host", i.cap)
	}
	i.waiting = append(i.waiting, f)
	select {
	case i.changed <- struct{}{}:
	default:
	}
	return nil
}

func (i *inbox) take() []func(context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	w := i.waiting
	i.waiting = nil
	return w
}

func (i *inbox) run(ctx context.Context) error {
	for {
		for _, f := range i.take() {
			if ctx.Err() != nil {
				return nil
			}
			if err := f(ctx); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-i.changed:
		}
	}
}
