package main

import (
	"context"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

// besideFor is how long the sleeper runs beside its successor.
const besideFor = 2 * time.Second

// zombie puts a host and its plugins to sleep, lets a second host take over,
// wakes the first, which believes that it still owns its streams, and ends it
// (with SIGKILL or, gracefully, SIGTERM) after the two have run side by side.
// From then on the second is the host of the run.
func (k *killer) zombie(ctx context.Context, gracefully bool) error {
	old := k.hosts.now()
	plugins := k.ctl.Live(func(p control.Process) bool { return p.Parent == old.pid })
	k.hosts.note("process %d goes to sleep", old.pid)
	old.signal(syscall.SIGSTOP)
	signalAll(plugins, syscall.SIGSTOP)
	at, err := k.watch.lastWritten(ctx)
	if err == nil {
		err = k.hosts.start()
	}
	successor := control.Process{}
	switch {
	case err != nil:
	case k.wakeEarly:
		successor, err = k.atAcquire(ctx)
	default:
		err = k.progress(ctx, at, "a second host took over")
	}
	k.hosts.note("process %d wakes", old.pid)
	signalAll(plugins, syscall.SIGCONT)
	old.signal(syscall.SIGCONT)
	if successor.PID > 0 {
		k.idle(ctx, besideFor)
		k.hosts.now().losesPlugin()
		_ = syscall.Kill(successor.PID, syscall.SIGKILL)
	}
	if err == nil {
		err = k.beside(ctx, old)
	}
	if gracefully && err == nil && !k.named {
		if how := old.stop(ctx); how != "" {
			k.problem("stop", "%s; see host.log", how)
		}
	}
	k.killHost(old)
	if err != nil {
		return err
	}
	at = k.watch.frontier()
	return k.progress(ctx, at, "the sleeper's end")
}

// atAcquire stops the successor's sink when it has issued new epochs and has
// done nothing else. A sleeper that wakes then is ahead of it: what it still has
// to write nobody else has written.
func (k *killer) atAcquire(ctx context.Context) (control.Process, error) {
	wait, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	r, err := k.ctl.Wait(wait, k.ctl.Arm("acquire", 1, k.is(schedule.Sink)))
	if ctx.Err() != nil {
		return control.Process{}, ctx.Err()
	}
	if err != nil {
		k.ctl.Disarm()
	}
	return r.Process, nil
}

// beside lets both hosts run. Neither may end by itself, but for the one that
// has woken where nothing shares out the partitions.
func (k *killer) beside(ctx context.Context, old *hostProcess) error {
	if k.named {
		old.willHalt()
		if err := k.halts(ctx, old); err != nil {
			return err
		}
		at := k.watch.frontier()
		return k.progress(ctx, at, "the sleeper woke")
	}
	select {
	case <-time.After(besideFor):
	case <-old.exited:
		k.problem("host", "process %d ended by itself after it woke: %s; see host.log", old.pid, old.diedAlone())
	case <-ctx.Done():
		return ctx.Err()
	}
	at := k.watch.frontier()
	return k.progress(ctx, at, "the sleeper woke")
}

func signalAll(ps []control.Process, sig syscall.Signal) {
	for _, p := range ps {
		_ = syscall.Kill(p.PID, sig)
	}
}
