package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/pipeline"
)

// A sink that was reached once is waited for without end, also if it is away
// when the time for the start is over.
func TestStartupGivesUpOnlyOnASinkThatWasNeverReached(t *testing.T) {
	for name, c := range map[string]struct {
		status  pipeline.Status
		givesUp bool
	}{
		"never reached":               {pipeline.Status{SinkRestarts: 7}, true},
		"open":                        {pipeline.Status{SinkOpen: true, SinkReached: true}, false},
		"away again, nothing durable": {pipeline.Status{SinkReached: true, SinkRestarts: 7}, false},
		"still being opened":          {pipeline.Status{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gaveUp := false
				s := newStartup(time.Second, func() { gaveUp = true })
				s.watchSink(t.Context(), func() pipeline.Status { return c.status })
				if gaveUp != c.givesUp || (s.reason() != nil) != c.givesUp {
					t.Errorf("gave up: %v, %v", gaveUp, s.reason())
				}
			})
		})
	}
}
