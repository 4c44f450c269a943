package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/schedule"
)

const (
	// outageWithin bounds the random moment at which a service goes away.
	outageWithin = 600 * time.Millisecond
	// awayFor bounds how long it stays away before it is started again.
	awayFor = 2 * time.Second
)

// service is a server beside the product that the schedule takes away: the
// broker, or the sink's database.
type service interface {
	// down ends the server in the way that a point of the schedule names.
	down(ctx context.Context, how string) error
	// up starts it again, at the same address and on the same data, and waits
	// until it serves.
	up(ctx context.Context) error
}

// outage takes a service away for a moment, perhaps together with a process,
// and waits until the pipeline commits again. No host may end by itself.
func (k *killer) outage(ctx context.Context, kill schedule.Kill, s service) error {
	k.idle(ctx, outageWithin)
	at := k.watch.frontier()
	begun := time.Now()
	k.hosts.note("the %s goes away: %s", kill.Point.Role, kill.Point.Name)
	if err := s.down(ctx, kill.Point.Name); err != nil {
		return fmt.Errorf("take the %s away: %w", kill.Point.Role, err)
	}
	if kill.Also != "" {
		k.strike(kill, control.Process{})
	}
	k.tally.add(kill, true)
	k.idle(ctx, awayFor)
	if err := k.revive(); err != nil {
		return err
	}
	if err := s.up(ctx); err != nil {
		return fmt.Errorf("bring the %s back: %w", kill.Point.Role, err)
	}
	k.hosts.note("the %s is back", kill.Point.Role)
	if err := k.progress(ctx, at, "kill "+kill.String()); err != nil {
		return err
	}
	k.tally.recovered(kill.Point.Role, time.Since(begun))
	return nil
}

// idle waits for a random time below d.
func (k *killer) idle(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(time.Duration(k.rng.Int64N(int64(d)))):
	case <-ctx.Done():
	}
}
