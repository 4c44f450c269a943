package source

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

const (
	// announceAtOnce bounds one announcement: the host starts the streams of
	// one together.
	announceAtOnce = 1024
	// maxHeld bounds the streams that the host carries, as long as there are
	// some that it can be asked to forget.
	maxHeld = 4096
	// giveUpTime bounds how long the host may take to forget streams that
	// have nothing in flight.
	giveUpTime = 30 * time.Second
	// gather lets streams that can be given up come together: each round costs
	// the sink a commit for those that take their place.
	gather = 200 * time.Millisecond
)

// announce tells the host about streams, and asks it to forget those that are
// done where it carries many, or whose files are gone.
func (r *reader) announce(ctx context.Context) {
	for {
		streams, leaving, err := r.table.next(ctx, r.mostHeld)
		if err == nil && len(leaving) > 0 {
			err = r.giveUp(ctx, leaving)
			rest(ctx, gather)
		}
		if err == nil && len(streams) > 0 {
			err = r.events.Assigned(ctx, assignments(streams))
		}
		if err != nil {
			r.fail(ctx, err)
			return
		}
	}
}

// rest waits, or less if ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func assignments(streams []sdk.Stream) []sdk.Assignment {
	out := make([]sdk.Assignment, len(streams))
	for i, s := range streams {
		out[i] = sdk.Assignment{Stream: s, Committed: sdk.NoPosition, Initial: sdk.StartEarliest}
	}
	return out
}

// giveUp asks the host to drop runs that have nothing in flight.
func (r *reader) giveUp(ctx context.Context, runs []uint64) error {
	err := r.events.Revoking(ctx, runs, time.Now().Add(giveUpTime))
	if ctx.Err() != nil {
		return err
	}
	if left := r.table.stillLeaving(runs); len(left) > 0 {
		r.log.Warn("the host did not give up streams in time", "streams", len(left))
		r.events.Lost(left)
		return r.table.drop(ctx, left)
	}
	return nil
}

// next waits until there are streams to announce, with fewer than most of them
// held, or runs to give up.
func (t *table) next(ctx context.Context, most int) (streams []sdk.Stream, leaving []uint64, err error) {
	err = t.await(ctx, func() bool {
		room := most - len(t.held)
		leaving = t.leave(len(t.waiting) > 0 && room <= 0)
		for len(t.waiting) > 0 && len(streams) < min(room, announceAtOnce) {
			f := t.waiting[0]
			t.waiting = t.waiting[1:]
			if f.gone {
				delete(t.streams, f.stream)
				continue
			}
			f.state, f.fresh = announced, true
			t.unstarted++
			t.held[f] = struct{}{}
			streams = append(streams, f.stream)
		}
		return len(streams) > 0 || len(leaving) > 0
	})
	return streams, leaving, err
}

// leave picks runs for the host to give up: those of files that are gone and,
// if room is needed, those that have nothing to read. All that was delivered
// of them is durable. The table is locked.
func (t *table) leave(needRoom bool) (runs []uint64) {
	for f := range t.held {
		idle := f.state == started && f.caught && f.turn == nil && !f.queued && !f.leaving && f.durable >= f.next
		if idle && (f.ended || needRoom) {
			f.leaving = true
			runs = append(runs, f.run)
		}
		if len(runs) == announceAtOnce {
			break
		}
	}
	return runs
}

// stillLeaving are those of runs that the host has not dropped.
func (t *table) stillLeaving(runs []uint64) (left []uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := map[uint64]bool{}
	for _, id := range runs {
		asked[id] = true
	}
	for f := range t.held {
		if f.state == started && f.leaving && asked[f.run] {
			left = append(left, f.run)
		}
	}
	return left
}
