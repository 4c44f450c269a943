package main

import (
	"context"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

// takeOverWithin is how long the successor of a host that stands still in the
// middle of a COPY may take until it commits. It is far less than any timeout
// of the database's that could come to its help: there is none.
const takeOverWithin = 30 * time.Second

// midCopy puts a sink to sleep when it has sent the rows of a COPY and not the
// end of it, so that the database holds their keys for a transaction that
// stands still. A second host must take over nevertheless. Then the sink wakes
// and would go on with its COPY. Either its host sleeps and wakes with it, or
// the host is killed meanwhile and the sink is all that is left of it.
func (k *killer) midCopy(ctx context.Context, hostSleeps bool) error {
	old := k.hosts.now()
	at, err := k.atCopy(ctx)
	if err != nil || at.PID == 0 {
		return err
	}
	plugins := k.ctl.Live(func(p control.Process) bool { return p.Parent == old.pid })
	if hostSleeps {
		k.hosts.note("process %d goes to sleep while its sink, process %d, is in a COPY", old.pid, at.PID)
		old.signal(syscall.SIGSTOP)
		signalAll(plugins, syscall.SIGSTOP)
	} else {
		k.hosts.note("the sink, process %d, goes to sleep in a COPY, and its host, process %d, is killed", at.PID, old.pid)
		_ = syscall.Kill(at.PID, syscall.SIGSTOP)
		k.killHostBut(old, at.PID)
	}
	err = k.succeed(ctx, old)
	k.hosts.note("process %d wakes", at.PID)
	signalAll(plugins, syscall.SIGCONT)
	old.signal(syscall.SIGCONT)
	k.ctl.Release(at)
	if err != nil {
		k.killHost(old)
		return err
	}
	if !hostSleeps {
		return k.wakesAlone(ctx, at.Process)
	}
	if err := k.beside(ctx, old); err != nil {
		return err
	}
	k.killHost(old)
	past := k.watch.frontier()
	return k.progress(ctx, past, "the sleeper's end")
}

// atCopy waits until the sink of the chosen host is in the middle of a COPY.
// Rows come all the time, so that is soon.
func (k *killer) atCopy(ctx context.Context) (control.Reached, error) {
	wait, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	r, err := k.ctl.Wait(wait, k.ctl.Arm("copying", 1+k.rng.IntN(12), k.is(schedule.Sink)))
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	if err != nil {
		k.ctl.Disarm()
		k.problem("mid-copy", "no COPY was seen within %s", reachWithin)
		return control.Reached{}, nil
	}
	return r, nil
}

// succeed starts a host in the place of old, which sleeps or is gone. When it
// commits, no transaction of old may be left.
func (k *killer) succeed(ctx context.Context, old *hostProcess) error {
	begun := time.Now()
	past, err := k.watch.lastWritten(ctx)
	if err != nil {
		return err
	}
	if err := k.hosts.start(); err != nil {
		return err
	}
	if err := k.progressIn(ctx, takeOverWithin, past, "its owner stopped in the middle of a COPY"); err != nil {
		return err
	}
	k.tally.tookOver(time.Since(begun))
	open, err := k.transactions(ctx, old.name)
	if err != nil {
		return err
	}
	if open > 0 {
		k.problem("mid-copy", "%s has %d transactions open while its successor writes", old.name, open)
	}
	return nil
}

// wakesAlone: a sink without a host ends by itself, and harms nobody.
func (k *killer) wakesAlone(ctx context.Context, p control.Process) error {
	if !waitGone(p.PID, deadline()) {
		k.problem("orphan", "%s, process %d, still lives %s after it woke without a host", p.Role, p.PID, orphanWithin)
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
	past := k.watch.frontier()
	return k.progress(ctx, past, "a sink without a host woke")
}
