package main

import (
	"context"
	"slices"
	"syscall"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
	"github.com/twg-io/twg/test/faults/table"
)

const (
	// leaseEvery and clockEvery are after how many kills of a raw-first run a
	// host sleeps past its lease, and the clock jumps.
	leaseEvery = 4
	clockEvery = 5
	// clockJump is how far, in seconds: longer than any lease.
	clockJump = 3600
	// takenWithin is how long a sleeper's window may stay its own.
	takenWithin = 30 * time.Second
	// awakeFor is how long a window is held by its new holder after the old
	// one woke.
	awakeFor = 1500 * time.Millisecond
)

// betweenRawFirst does what comes between kill n and the next.
func (r *run) betweenRawFirst(ctx context.Context, k *killer, n int) error {
	if n%leaseEvery == leaseEvery-1 {
		points := []string{"complete", "replayed", "complete", "recover-cover"}
		if err := k.pastLease(ctx, points[n/leaseEvery%len(points)]); err != nil {
			return err
		}
	}
	if n%clockEvery == clockEvery-1 {
		return r.jump(ctx, n/clockEvery%2 == 0)
	}
	return ctx.Err()
}

// jump puts the clock of the leases forward, so that all of them are over at
// once, or back.
func (r *run) jump(ctx context.Context, forward bool) error {
	t := table.NewReader(r.db.DSN(""))
	defer t.Close()
	seconds := -clockJump
	if forward {
		seconds = clockJump
	}
	leases, err := t.ShiftClock(ctx, seconds)
	if err != nil {
		return err
	}
	r.hosts.note("the clock jumps by %d s under %d leases", seconds, leases)
	r.tally.jumps++
	return nil
}

// pastLease stops a host that recovers, and its plugins, when it is at a point
// of its work on a window, until the other host has claimed the same window. It
// wakes while the other one is just about to complete it, believes that the
// window is its own, and must change nothing.
func (k *killer) pastLease(ctx context.Context, point string) error {
	a, b := k.hosts.at(k.recovery), k.hosts.at(len(rawFirstRoles)-k.recovery)
	wait, cancel := context.WithTimeout(ctx, reachWithin)
	defer cancel()
	at, err := k.ctl.Wait(wait, k.ctl.Arm(point, 1, func(p control.Process) bool { return p.PID == a.pid }))
	if err != nil {
		k.ctl.Disarm()
		k.tally.noWork++
		return ctx.Err()
	}
	windows, err := k.database.claimed(ctx, a.name)
	asleep := k.ctl.Live(func(p control.Process) bool { return p.Parent == a.pid || p.PID == a.pid })
	k.hosts.note("process %d goes to sleep at %s; it holds windows %v", a.pid, point, windows)
	signalAll(asleep, syscall.SIGSTOP)
	var held control.Reached
	if err == nil {
		held = k.takenOver(ctx, windows, a, b)
	}
	k.hosts.note("process %d wakes, process %d has one of its windows: %t", a.pid, b.pid, held.PID > 0)
	k.ctl.Release(at)
	signalAll(asleep, syscall.SIGCONT)
	select {
	case <-time.After(awakeFor):
	case <-ctx.Done():
	}
	if held.PID > 0 {
		k.ctl.Release(held)
		k.tally.leases++
	} else {
		k.tally.unseen++
	}
	if err != nil {
		return err
	}
	past := k.watch.frontier()
	return k.progress(ctx, past, "a host slept past its lease")
}

// takenOver waits until b is about to complete one of a's windows, and holds it
// there. Its lease is renewed meanwhile. b may also be done with it unseen: only
// one of its two workers is held at a time.
func (k *killer) takenOver(ctx context.Context, windows []int64, a, b *hostProcess) control.Reached {
	for begun := time.Now(); ctx.Err() == nil; {
		wait, cancel := context.WithTimeout(ctx, time.Second)
		r, err := k.ctl.Wait(wait, k.ctl.Arm("complete", 1, func(p control.Process) bool { return p.PID == b.pid }))
		cancel()
		if err != nil {
			k.ctl.Disarm()
		} else if k.hasOne(ctx, b, windows) {
			return r
		} else {
			k.ctl.Release(r)
		}
		if !k.hasOne(ctx, a, windows) {
			return control.Reached{}
		}
		if time.Since(begun) > takenWithin {
			k.noteWaits(ctx)
			k.problem("lease", "windows %v of a host that sleeps were not taken over within %s", windows, takenWithin)
			return control.Reached{}
		}
	}
	return control.Reached{}
}

// hasOne reports whether a host holds one of the windows.
func (k *killer) hasOne(ctx context.Context, h *hostProcess, windows []int64) bool {
	got, err := k.database.claimed(ctx, h.name)
	return err == nil && slices.ContainsFunc(got, func(id int64) bool { return slices.Contains(windows, id) })
}

// noteWaits writes into the hosts' log who waits for whom in the database.
func (k *killer) noteWaits(ctx context.Context) {
	if k.database == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sampleWithin)
	defer cancel()
	t := table.NewReader(k.database.DSN(""))
	defer t.Close()
	waits, err := t.Waits(ctx)
	k.hosts.note("waits in the database: %q (%v)", waits, err)
}

// claimed lists the windows that a host holds.
func (d *database) claimed(ctx context.Context, name string) ([]int64, error) {
	r := table.NewReader(d.DSN(""))
	defer r.Close()
	return r.Claimed(ctx, name)
}

// rawFirstOrder is the order of the roles in a report.
var rawFirstOrder = []schedule.Role{schedule.Secondary, schedule.Recoverer, schedule.Replayer, schedule.Rebuilder}
