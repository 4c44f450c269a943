package main

import (
	"context"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/schedule"
)

// frozenWithin is how long a plugin may be silent before the host must have
// replaced it: three pings are missed, and then it is killed.
const frozenWithin = 40 * time.Second

// freeze stops a plugin for good, alive but silent. The host has to notice by
// itself, to kill it and to go on with another.
func (k *killer) freeze(ctx context.Context, role schedule.Role) error {
	live := k.ctl.Live(k.is(role))
	k.hosts.note("the %s freezes", role)
	signalAll(live, syscall.SIGSTOP)
	for _, p := range live {
		if !waitGone(p.PID, time.Now().Add(frozenWithin)) {
			k.problem("frozen", "%s, process %d, was silent for %s and was not replaced", role, p.PID, frozenWithin)
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	at := k.watch.frontier()
	return k.progress(ctx, at, "the "+string(role)+" froze")
}
