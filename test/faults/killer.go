package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

const (
	// reachWithin bounds the wait for a point; after that the process is
	// killed wherever it is.
	reachWithin = 15 * time.Second
	// progressWithin bounds the time from a kill until commits move again.
	progressWithin = 60 * time.Second
	// orphanWithin is how long a plugin may outlive its host.
	orphanWithin = 10 * time.Second
)

// errStalled: after a kill nothing was committed any more (INV4).
var errStalled = errors.New("stalled")

// killer carries out a schedule.
type killer struct {
	hosts   *hosts
	ctl     *control.Server
	watch   *watcher
	rng     *rand.Rand
	tally   *tally
	problem func(kind, format string, args ...any)
	// services are the servers that the schedule takes away.
	services map[schedule.Role]service
	// place draws the host that a kill is about, where there are several.
	place *rand.Rand
	// wakeEarly: a sleeper wakes while its successor is not quite the owner.
	wakeEarly bool
	// named: nothing shares out the partitions, so a host that has lost them
	// must end.
	named    bool
	database *database // the sink's, if it has one
	// recovery is the place of the host that recovers and that a kill is about;
	// 0: none does.
	recovery int
	// alone counts how often the host ended by itself.
	alone int
	// orphans waits for the checks that plugins die with their host.
	orphans sync.WaitGroup
}

// one kills once, and waits until the pipeline commits again.
func (k *killer) one(ctx context.Context, kill schedule.Kill) error {
	if err := k.revive(); err != nil {
		return err
	}
	if s := k.services[kill.Point.Role]; s != nil {
		return k.outage(ctx, kill, s)
	}
	victim, exact, err := k.aim(ctx, kill)
	if err != nil {
		return err
	}
	at := k.watch.frontier()
	begun := time.Now()
	k.strike(kill, victim)
	k.tally.add(kill, exact)
	if err := k.revive(); err != nil {
		return err
	}
	if err := k.progress(ctx, at, "kill "+kill.String()); err != nil {
		return err
	}
	k.tally.recovered(kill.Point.Role, time.Since(begun))
	return nil
}

// aim waits until the victim stands at the point. If that does not come, it
// returns whichever process has the role.
func (k *killer) aim(ctx context.Context, kill schedule.Kill) (victim control.Process, exact bool, err error) {
	wait, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	id := k.ctl.Arm(kill.Point.Name, kill.Hits, k.is(kill.Point.Role))
	if kill.Point.Provoke != "" {
		k.killRole(kill.Point.Provoke)
		k.tally.provoked++
	}
	if r, err := k.ctl.Wait(wait, id); err == nil {
		return r.Process, true, nil
	}
	if ctx.Err() != nil {
		return victim, false, ctx.Err()
	}
	k.ctl.Disarm()
	if err := k.revive(); err != nil {
		return victim, false, err
	}
	wait, cancel = context.WithTimeout(ctx, reachWithin)
	defer cancel()
	live, err := k.ctl.WaitLive(wait, k.is(kill.Point.Role))
	if err != nil {
		return victim, false, fmt.Errorf("%w: no %s runs to be killed (%s)", errStalled, kill.Point.Role, kill)
	}
	select {
	case <-time.After(time.Duration(k.rng.IntN(300)) * time.Millisecond):
	case <-ctx.Done():
	}
	return live[0], false, nil
}

// strike sends SIGKILL to the victim and to the role that goes with it.
func (k *killer) strike(kill schedule.Kill, victim control.Process) {
	if kill.Also != "" && !isHost(kill.Also) {
		k.killRole(kill.Also)
	}
	for _, r := range []schedule.Role{schedule.Host, schedule.Recoverer} {
		if kill.Point.Role == r || kill.Also == r {
			k.killHost(k.hostOf(r))
		}
	}
	if victim.PID > 0 && !isHost(kill.Point.Role) {
		k.hostOf(kill.Point.Role).losesPlugin()
		_ = syscall.Kill(victim.PID, syscall.SIGKILL)
	}
}

func (k *killer) killRole(r schedule.Role) {
	k.hostOf(r).losesPlugin()
	for _, p := range k.ctl.Live(k.is(r)) {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
	}
}

// killHost kills a host and sees to it that its plugins follow.
func (k *killer) killHost(h *hostProcess) {
	left := k.ctl.Live(func(p control.Process) bool { return p.Parent == h.pid })
	h.kill()
	k.orphans.Go(func() {
		deadline := time.Now().Add(orphanWithin)
		for _, p := range left {
			if !waitGone(p.PID, deadline) {
				k.problem("orphan", "%s, process %d, still lives %s after its host", p.Role, p.PID, orphanWithin)
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
	})
}

// is tells the processes of a role that belong to the host of now, or to the
// one that recovers and that the kill is about.
func (k *killer) is(r schedule.Role) func(control.Process) bool {
	return func(p control.Process) bool {
		pid := k.hostOf(r).pid
		if isHost(r) {
			return p.PID == pid
		}
		return p.Parent == pid && k.playedBy(p.Role) == beside(r)
	}
}

// hostOf is the host of a role's process, or is that process.
func (k *killer) hostOf(r schedule.Role) *hostProcess {
	if r.Recovers() {
		return k.hosts.at(k.recovery)
	}
	return k.hosts.now()
}

func isHost(r schedule.Role) bool { return r == schedule.Host || r == schedule.Recoverer }

// beside is the role that the same executable has in a host that ingests.
func beside(r schedule.Role) schedule.Role {
	switch r {
	case schedule.Replayer:
		return schedule.Sink
	case schedule.Rebuilder:
		return schedule.Secondary
	}
	return r
}

// playedBy maps an executable's name to its role in this run.
func (k *killer) playedBy(name string) schedule.Role {
	if k.recovery > 0 && (name == copyPlugin || name == "twg-plugin-parquet") {
		return schedule.Secondary
	}
	return roleOf(name)
}

// roleOf maps an executable's name to its role.
func roleOf(name string) schedule.Role {
	switch name {
	case "twg":
		return schedule.Host
	case "twg-plugin-kafka-source":
		return schedule.Source
	}
	return schedule.Sink
}
