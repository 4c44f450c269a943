package main

import (
	"context"
	"fmt"
	"time"
)

// maxAlone is how often the host may end by itself before a run gives up.
const maxAlone = 3

// progress waits until the committed offset of every partition has moved past
// what it was, and starts a host again if it ends meanwhile.
func (k *killer) progress(ctx context.Context, past map[int32]int64, after string) error {
	return k.progressIn(ctx, progressWithin, past, after)
}

func (k *killer) progressIn(ctx context.Context, bound time.Duration, past map[int32]int64, after string) error {
	wait, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		moved := k.watch.change()
		if k.watch.isPast(past) {
			return nil
		}
		if err := k.revive(); err != nil {
			return err
		}
		select {
		case <-moved:
		case <-time.After(reviveEvery):
		case <-wait.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			k.noteWaits(ctx)
			return fmt.Errorf("%w: %s after %s not every partition was committed beyond %v, but %v", errStalled, bound, after, past, k.watch.frontier())
		}
	}
}

// reviveEvery is how often progress looks whether a host is gone.
const reviveEvery = 100 * time.Millisecond

// revive starts each host again that is gone; it is a problem if nobody killed
// it.
func (k *killer) revive() error {
	chosen := k.hosts.chosen
	defer k.hosts.choose(chosen)
	for place, h := range k.hosts.all() {
		k.hosts.choose(place)
		if err := k.reviveOne(h); err != nil {
			return err
		}
	}
	return nil
}

func (k *killer) reviveOne(h *hostProcess) error {
	select {
	case <-h.exited:
	default:
		return nil
	}
	if how := h.diedAlone(); how != "" {
		k.problem("host", "process %d ended by itself: %s; see host.log", h.pid, how)
		if k.alone++; k.alone >= maxAlone {
			return fmt.Errorf("%w: the host ended by itself %d times", errStalled, k.alone)
		}
	}
	return k.hosts.start()
}
