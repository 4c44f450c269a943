package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

// killAll carries out the schedule. It ends early when the pipeline stalls
// (which it returns) and when a mutant is caught.
func (r *run) killAll(ctx context.Context, kills []schedule.Kill) (stalled error) {
	k := &killer{
		hosts: r.hosts, ctl: r.ctl, watch: r.watch, tally: r.tally, problem: r.problem,
		services: map[schedule.Role]service{}, place: rand.New(rand.NewPCG(r.opt.seed, 3)),
		rng: rand.New(rand.NewPCG(r.opt.seed, 2)),
	}
	defer k.orphans.Wait()
	if s, ok := r.broker.(service); ok {
		k.services[schedule.Broker] = s
	}
	if r.db != nil {
		k.services[schedule.Database] = r.db
	}
	if err := k.progress(ctx, nil, "the start"); err != nil {
		return err
	}
	for _, kill := range kills {
		r.hosts.choose(k.place.IntN(r.opt.hosts))
		if err := k.one(ctx, kill); err != nil {
			return err
		}
		if kill.N%10 == 0 {
			fmt.Fprintf(r.out, "  %s  %d kills\n", r.clock(), kill.N)
		}
		if err := r.between(ctx, k, kill.N); err != nil {
			return err
		}
		if r.opt.mutant != "" && r.caughtSoFar() {
			return nil
		}
	}
	return nil
}

// between does what comes between kill n and the next: a host or a plugin that
// sleeps.
func (r *run) between(ctx context.Context, k *killer, n int) error {
	if every := r.opt.sleepers; every > 0 && n%every == every/2 {
		r.tally.zombies++
		gracefully := n/every%2 == 1
		k.wakeEarly = r.db != nil && (r.opt.mutant != "" || !gracefully)
		if err := k.zombie(ctx, gracefully); err != nil {
			return err
		}
	}
	if every := r.opt.freeze; every > 0 && n%every == 0 {
		r.tally.frozen++
		role := schedule.Source
		if n/every%2 == 1 {
			role = schedule.Sink
		}
		return k.freeze(ctx, role)
	}
	return nil
}

// caughtSoFar reports whether the watcher has seen a mutant's flaw already.
func (r *run) caughtSoFar() bool {
	return r.watch.doubled() > 0 || r.watch.stale() > 0 || r.watch.led(r.prod.Real()).Count > 0
}

// killEverything ends the host and every plugin that is still there, also
// those of earlier hosts, as a power cut would.
func (r *run) killEverything() {
	r.hosts.killAll()
	for _, p := range r.ctl.Live(anyProcess) {
		_ = syscall.Kill(p.PID, syscall.SIGKILL)
		waitGone(p.PID, deadline())
	}
}

// nothingLeft checks that no process of the product is left after a graceful
// stop.
func (r *run) nothingLeft() {
	for _, p := range r.ctl.Live(anyProcess) {
		if !waitGone(p.PID, deadline()) {
			r.problem("orphan", "%s, process %d, still lives %s after the host stopped", p.Role, p.PID, orphanWithin)
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

func anyProcess(control.Process) bool { return true }

func deadline() time.Time { return time.Now().Add(orphanWithin) }
