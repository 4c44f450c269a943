package pipeline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// empty is what somebody does who removes the sink's directory.
func (s *fakeStore) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fresh := newStore()
	s.rows, s.cov, s.epochs = fresh.rows, fresh.cov, fresh.epochs
}

// INV1: the sink is emptied while the pipeline runs, behind positions that it
// has committed: an alarm says so, and everything is read again. With `latest`
// the start must not be chosen anew: what arrived since would be skipped.
func TestSinkEmptiedWhileRunning(t *testing.T) {
	for name, initial := range map[string]sdk.StartAt{"earliest": sdk.StartEarliest, "latest": sdk.StartLatest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
				topic.initial = initial
				cfg := config(topic, sink)
				cfg.UntilCaughtUp = false
				ctx, cancel := context.WithCancel(t.Context())
				p, done := New(cfg), make(chan error, 1)
				go func() { done <- p.Run(ctx) }()
				time.Sleep(time.Second) // of virtual time
				if c := topic.committedAt(part(0)); c != 30 {
					t.Fatalf("committed %d before the sink is emptied", c)
				}
				sink.store.empty()
				topic.mu.Lock()
				topic.ends[part(0)] = 40
				topic.mu.Unlock()
				time.Sleep(time.Minute)
				cancel()
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				wantAll(t, topic, sink.store)
				if a := p.Status().Alarms; a != 1 {
					t.Errorf("%d alarms, want 1", a)
				}
			})
		})
	}
}

// rewind is what somebody does who restores a backup of the store: rows and
// coverage of a stream from at on are gone. The epoch was there before.
func (s *fakeStore) rewind(k sdk.Stream, at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cov := &coverage.Set{}
	for _, i := range s.set(k).HeldWithin(coverage.Interval{Next: at}) {
		cov.AddHeld(i)
	}
	s.cov[k] = cov
	for pos := range s.rows[k] {
		if pos >= at {
			delete(s.rows[k], pos)
		}
	}
}

// INV1: the store is restored to an older state while no session is open. What
// it lost is read again, though its epoch is still the current one.
func TestStoreRestoredBetweenSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 60), &fakeSink{store: newStore()}
		sink.script = func(w *fakeWriter, b *sdk.Batch) bool {
			if sink.batch != 30 {
				return false
			}
			sink.store.rewind(part(0), 9)
			w.ses.Fail(errors.New("connection reset"))
			return true
		}
		cfg := config(topic, sink)
		p, err := run(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if p.Status().Alarms != 1 {
			t.Errorf("%d alarms, want 1", p.Status().Alarms)
		}
	})
}
