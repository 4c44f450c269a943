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
		rng: rand.New(rand.NewPCG(r.opt.seed, 2)), named: r.opt.named(), database: r.db,
	}
	defer k.orphans.Wait()
	if s, ok := r.broker.(service); ok {
		k.services[schedule.Broker] = s
	}
	if r.db != nil {
		k.services[schedule.Database] = r.db
	}
	if r.opt.rawFirst() {
		r.hosts.choose(0)
		k.recovery = 1
	}
	if err := k.progress(ctx, nil, "the start"); err != nil {
		return err
	}
	for _, kill := range kills {
		if r.opt.rawFirst() {
			k.recovery = 1 + k.place.IntN(r.opt.places()-1)
		} else {
			r.hosts.choose(k.place.IntN(r.opt.places()))
		}
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
	if r.opt.rawFirst() {
		if err := r.betweenRawFirst(ctx, k, n); err != nil {
			return err
		}
	}
	if every := r.opt.sleepers; every > 0 && n%every == every/2 {
		if err := r.sleeper(ctx, k, n/every); err != nil {
			return err
		}
	}
	if r.opt.named() && r.opt.hosts > 1 && n%rivalEvery == rivalEvery-1 {
		r.tally.rivals++
		if err := k.rival(ctx); err != nil {
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

// rivalEvery is after how many kills a rival starts, where the run has any.
const rivalEvery = 5

// sleeper puts host n of those to sleep that are. Over a database every other
// one is caught in the middle of a COPY. A flaw shows best where the sleeper
// wakes early.
func (r *run) sleeper(ctx context.Context, k *killer, n int) error {
	r.tally.zombies++
	gracefully := n%2 == 1
	switch {
	case r.db == nil:
	case r.opt.mutant != "":
		k.wakeEarly = true
	case n%4 == 0:
		// Where other hosts run it is not sure that the second one gets a
		// stream of the sleeper's; if all of it sleeps, it does.
		return k.midCopy(ctx, r.opt.places() > 1)
	case n%4 == 2:
		return k.midCopy(ctx, true)
	default:
		gracefully = n%4 == 1
		k.wakeEarly = !gracefully
	}
	return k.zombie(ctx, gracefully)
}

// caughtSoFar reports whether the watcher has seen a mutant's flaw already.
func (r *run) caughtSoFar() bool {
	return r.watch.doubled() > 0 || r.watch.stale() > 0 || r.lanes != nil && r.lanes.found() > 0 || r.watch.led(r.prod.Real()).Count > 0
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
