package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

const (
	// haltWithin is how long a host may go on after another has taken its
	// named partitions over, or after it woke to that.
	haltWithin = 20 * time.Second
	// exitHalted is its exit code then.
	exitHalted = 1
)

// rival starts a second host that reads the same named partitions while the
// first runs. Nothing shares them out: the later start wins, and the first must
// end by itself and name both. From then on the second is the host of the run.
func (k *killer) rival(ctx context.Context) error {
	old, past := k.hosts.now(), k.watch.frontier()
	k.hosts.note("a rival of process %d starts", old.pid)
	old.willHalt()
	if err := k.hosts.start(); err != nil {
		return err
	}
	if err := k.halts(ctx, old); err != nil {
		return err
	}
	return k.progress(ctx, past, "a rival took over")
}

// halts waits until a host that has lost its partitions ends, and looks at how
// it does.
func (k *killer) halts(ctx context.Context, old *hostProcess) error {
	select {
	case <-old.exited:
	case <-time.After(haltWithin):
		k.problem("rival", "process %d still runs %s after %s had taken over", old.pid, haltWithin, k.hosts.now().name)
		k.killHost(old)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	if code := old.exitCode(); code != exitHalted {
		k.problem("rival", "process %d ended with code %d when another took over, not %d; see host.log", old.pid, code, exitHalted)
	}
	if !saidBoth(k.hosts.log.Name(), old.pid, k.hosts.now().pid) {
		k.problem("rival", "process %d did not say that process %d has taken over; see host.log", old.pid, k.hosts.now().pid)
	}
	return nil
}

// saidBoth reports whether a line of the hosts' log says that one process has
// lost a stream to another.
func saidBoth(log string, loser, winner int) bool {
	text, err := os.ReadFile(log)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "was taken over") && names(line, loser) && names(line, winner) {
			return true
		}
	}
	return false
}

// names reports whether a line has a process's number as a word.
func names(line string, pid int) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r < '0' || r > '9' })
	for _, w := range words {
		if w == fmt.Sprint(pid) {
			return true
		}
	}
	return false
}
