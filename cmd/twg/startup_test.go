package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/pipeline"
)

// A sink that was reached once is waited for without end, also if it is away
// when the time for the start is over; so is one that is still being opened,
// until that fails.
func TestStartupGivesUpOnlyOnASinkThatWasNeverReached(t *testing.T) {
	away := errors.New("connection refused")
	for name, c := range map[string]struct {
		status pipeline.Status // at the time for the start
		later  pipeline.Status // and ten seconds later
		gaveUp time.Duration   // zero: never
	}{
		"never reached":               {status: pipeline.Status{SinkRestarts: 7, SinkError: away}, gaveUp: time.Second},
		"open":                        {status: pipeline.Status{SinkOpen: true, SinkReached: true}},
		"away again, nothing durable": {status: pipeline.Status{SinkReached: true, SinkRestarts: 7, SinkError: away}},
		"still being opened":          {},
		"opened late":                 {later: pipeline.Status{SinkReached: true}},
		"fails late":                  {later: pipeline.Status{SinkRestarts: 1, SinkError: away}, gaveUp: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, gaveUp := time.Now(), time.Duration(0)
				s := newStartup(time.Second, func() { gaveUp = time.Since(began) })
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				s.watchSink(ctx, func() pipeline.Status {
					if time.Since(began) < 10*time.Second {
						return c.status
					}
					return c.later
				})
				if gaveUp.Truncate(time.Second) != c.gaveUp || (s.reason() != nil) != (c.gaveUp > 0) {
					t.Errorf("gave up after %v, want %v; %v", gaveUp, c.gaveUp, s.reason())
				}
			})
		})
	}
}
