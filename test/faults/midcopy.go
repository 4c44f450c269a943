package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

// takeOverWithin is how long the successor of a sink that stands still in the
// middle of a COPY may take until it commits. It is far less than any timeout
// of the database's that could come to its help: there is none.
const takeOverWithin = 30 * time.Second

// midCopy puts a sink to sleep when it has sent the rows of a COPY and not the
// end of it, so that the database holds their keys for a transaction that
// stands still. Its host sleeps too, or runs and has not noticed yet. A second
// host must get what it takes over going nevertheless. Then the sink wakes and
// goes on with its COPY.
func (k *killer) midCopy(ctx context.Context, hostSleeps bool) error {
	old := k.hosts.now()
	at, err := k.atCopy(ctx)
	if err != nil || at.PID == 0 {
		return err
	}
	asleep := []control.Process{at.Process}
	if hostSleeps {
		asleep = k.ctl.Live(func(p control.Process) bool { return p.Parent == old.pid || p.PID == old.pid })
	}
	k.hosts.note("the sink of process %d, process %d, goes to sleep in a COPY (and its host: %t)", old.pid, at.PID, hostSleeps)
	signalAll(asleep, syscall.SIGSTOP)
	err = k.succeed(ctx, old)
	if gone(at.PID) {
		k.tally.replaced++ // its host has found that it is silent
	}
	k.hosts.note("process %d wakes", at.PID)
	signalAll(asleep, syscall.SIGCONT)
	k.ctl.Release(at)
	if err == nil {
		err = k.beside(ctx, old)
	}
	k.killHost(old)
	if err != nil {
		return err
	}
	past := k.watch.frontier()
	return k.progress(ctx, past, "the sleeper's end")
}

// atCopy waits until the sink of the chosen host is in the middle of a COPY of
// which the database has put rows into the table. It keeps the first thousand
// in its memory. So a smaller COPY is held up for a moment, and the next one
// brings what has come meanwhile.
func (k *killer) atCopy(ctx context.Context) (control.Reached, error) {
	wait, cancel := context.WithTimeout(ctx, largeWithin)
	defer cancel()
	for held := writtenWithin; ; held *= 2 {
		r, err := k.ctl.Wait(wait, k.ctl.Arm("copying", 1, k.is(schedule.Sink)))
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if err != nil {
			k.ctl.Disarm()
			k.problem("mid-copy", "no COPY with rows in the table was seen within %s", largeWithin)
			return control.Reached{}, nil
		}
		if k.hasWritten(wait, held) {
			return r, nil
		}
		k.ctl.Release(r)
	}
}

const (
	// largeWithin bounds the wait for a COPY that is large enough.
	largeWithin = 60 * time.Second
	// writtenWithin is how long the first COPY is held up if the database has
	// not put its rows into the table, the next one twice as long.
	writtenWithin = 3 * time.Second
	writtenEvery  = 50 * time.Millisecond
)

// hasWritten reports whether rows of the host's COPY come into the table, where
// nobody else sees them.
func (k *killer) hasWritten(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		if _, copying, err := k.database.transactions(ctx, k.hosts.now().name); err == nil && copying > 0 {
			return true
		}
		select {
		case <-time.After(writtenEvery):
		case <-ctx.Done():
			return false
		}
	}
}

// succeed starts a host in the place of old, whose sink stands still, and waits
// until every stream that it has acquired moves on. No transaction of old may be
// left then.
func (k *killer) succeed(ctx context.Context, old *hostProcess) error {
	begun := time.Now()
	written, err := k.watch.lastWritten(ctx)
	if err != nil {
		return err
	}
	if err := k.hosts.start(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, takeOverWithin)
	defer cancel()
	for !k.movesOn(wait, written) {
		select {
		case <-time.After(writtenEvery):
		case <-wait.Done():
			k.noteWaits(ctx)
			return fmt.Errorf("%w: %s has not committed what it took over from %s, whose sink stands still in a COPY, within %s", errStalled, k.hosts.now().name, old.name, takeOverWithin)
		}
	}
	k.tally.takeOvers = append(k.tally.takeOvers, time.Since(begun))
	open, _, err := k.database.transactions(ctx, old.name)
	if err != nil {
		return err
	}
	if open > 0 {
		k.problem("mid-copy", "%s has %d transactions open while its successor writes", old.name, open)
	}
	return nil
}

// movesOn reports whether the newest host has streams and has brought all of
// them beyond what was written.
func (k *killer) movesOn(ctx context.Context, written map[int32]int64) bool {
	acquired, err := k.database.acquired(ctx, k.hosts.now().name)
	if err != nil || len(acquired) == 0 {
		return false
	}
	at := k.watch.frontier()
	for _, p := range acquired {
		if at[p] <= written[p] {
			return false
		}
	}
	return true
}
