package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// windowWatch times the work on windows, in the store.
type windowWatch struct {
	stop  context.CancelFunc
	ended chan struct{}
	first time.Time // a window is claimed
	last  time.Time // none is left
	err   error
}

const windowsEvery = 10 * time.Millisecond

func watchWindows(ctx context.Context, dsn string) *windowWatch {
	ctx, stop := context.WithCancel(ctx)
	w := &windowWatch{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		w.err = w.loop(ctx, dsn)
	}()
	return w
}

func (w *windowWatch) loop(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("watch windows: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	tick := time.NewTicker(windowsEvery)
	defer tick.Stop()
	for {
		var all, claimed int
		err := conn.QueryRow(ctx, "select count(*), count(*) filter (where state = 'claimed') from _twg.windows").Scan(&all, &claimed)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("watch windows: %w", err)
		case w.first.IsZero() && claimed > 0:
			w.first = time.Now()
		case !w.first.IsZero() && all == 0:
			w.last = time.Now()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *windowWatch) finish() (time.Duration, error) {
	if w.last.IsZero() {
		// what the host did last is seen within one round
		select {
		case <-w.ended:
		case <-time.After(100 * windowsEvery):
		}
	}
	w.stop()
	<-w.ended
	if w.err == nil && w.last.IsZero() {
		w.err = errors.New("no end of the windows was seen")
	}
	return w.last.Sub(w.first), w.err
}
