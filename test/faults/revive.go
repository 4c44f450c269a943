package main

import (
	"context"
	"fmt"
)

// maxAlone is how often the host may end by itself before a run gives up.
const maxAlone = 3

// progress waits until the committed offsets have moved past a sum, and starts
// the host again if it ends meanwhile.
func (k *killer) progress(ctx context.Context, past int64, after string) error {
	wait, cancel := context.WithTimeout(ctx, progressWithin)
	defer cancel()
	for {
		at, moved := k.watch.position()
		if at > past {
			return nil
		}
		select {
		case <-moved:
		case <-k.hosts.now().exited:
			if err := k.revive(); err != nil {
				return err
			}
		case <-wait.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%w: nothing was committed for %s after %s", errStalled, progressWithin, after)
		}
	}
}

// revive starts the host again if it is gone; it is a problem if nobody
// killed it.
func (k *killer) revive() error {
	h := k.hosts.now()
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
