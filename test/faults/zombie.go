package main

import (
	"context"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
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
	at := k.watch.frontier()
	err := k.hosts.start()
	if err == nil {
		err = k.progress(ctx, at, "a second host took over")
	}
	k.hosts.note("process %d wakes", old.pid)
	signalAll(plugins, syscall.SIGCONT)
	old.signal(syscall.SIGCONT)
	if err == nil {
		err = k.beside(ctx, old)
	}
	if gracefully && err == nil {
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

// beside lets both hosts run. Neither may end by itself.
func (k *killer) beside(ctx context.Context, old *hostProcess) error {
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
