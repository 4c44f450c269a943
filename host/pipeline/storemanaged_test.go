package pipeline

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// storeConfig is a pipeline whose source has no server that keeps positions:
// what it commits is forgotten.
func storeConfig(topic *fakeTopic, sink *fakeSink) Config {
	cfg := config(topic, sink)
	cfg.SourceCaps.Position = sdk.PositionStore
	return cfg
}

// A store-managed stream begins at the first hole of what the sink holds, and
// a second run has nothing to do.
func TestStoreManagedBeginsAtTheFirstHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		held := sink.store.set(part(0))
		held.AddVoid(coverage.Void{Interval: coverage.Interval{Next: 4}, Reason: coverage.BeforeStart})
		held.AddHeld(coverage.Interval{From: 4, Next: 10})
		held.AddHeld(coverage.Interval{From: 12, Next: 20})
		for range 2 {
			delete(topic.committed, part(0))
			if _, err := run(t, storeConfig(topic, sink)); err != nil {
				t.Fatal(err)
			}
		}
		for p := range int64(30) {
			want := 0 // void, or held before
			if p == 10 || p == 11 || p >= 20 {
				want = 1
			}
			if n := sink.store.rows[part(0)][p]; n != want {
				t.Errorf("position %d was written %d times, want %d", p, n, want)
			}
		}
		if held.FirstHole() != 30 {
			t.Errorf("coverage is whole up to %d", held.FirstHole())
		}
	})
}

// What comes once only gets positions above everything that the sink holds:
// holes are recorded as lost, with an alarm, and no position is given again.
func TestWhatComesOnceBeginsAfterAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		held := sink.store.set(part(0))
		held.AddHeld(coverage.Interval{Next: 10})
		held.AddHeld(coverage.Interval{From: 12, Next: 20})
		cfg := storeConfig(topic, sink)
		cfg.SourceCaps.Origin = sdk.OriginNonReplayable
		p, err := run(t, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for at, n := range sink.store.rows[part(0)] {
			if at < 20 || n != 1 {
				t.Errorf("position %d was written %d times", at, n)
			}
		}
		if status := p.Status(); status.Alarms != 1 || held.FirstHole() != 30 || len(held.Voids()) != 1 {
			t.Errorf("%d alarms, coverage whole up to %d, voids %v", p.Status().Alarms, held.FirstHole(), held.Voids())
		}
	})
}

// "latest" is decided once, also of a stream that holds nothing yet: what comes
// while the host is down is not skipped.
func TestStoreManagedLatestIsDecidedOnce(t *testing.T) {
	for name, at := range map[string]int64{"empty": 0, "filled": 30} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, at), &fakeSink{store: newStore()}
				topic.initial = sdk.StartLatest
				if _, err := run(t, storeConfig(topic, sink)); err != nil {
					t.Fatal(err)
				}
				topic.ends[part(0)] = at + 10
				delete(topic.committed, part(0))
				if _, err := run(t, storeConfig(topic, sink)); err != nil {
					t.Fatal(err)
				}
				rows := sink.store.rows[part(0)]
				if len(rows) != 10 || rows[at] != 1 || sink.store.set(part(0)).FirstHole() != at+10 {
					t.Errorf("%d rows, coverage %v and %v", len(rows), sink.store.set(part(0)).Held(), sink.store.set(part(0)).Voids())
				}
			})
		})
	}
}

// Who is fenced halts at the first fence, and does not acquire again: its
// source's commits prove nothing. The sink's reason names the other host.
func TestStoreManagedFenceHalts(t *testing.T) {
	for name, meddle := range map[string]func(*fakeSink, func()){
		"write": func(s *fakeSink, other func()) {
			s.script = func(*fakeWriter, *sdk.Batch) bool {
				s.store.mu.Lock()
				defer s.store.mu.Unlock()
				other()
				return false
			}
		},
		"start": func(s *fakeSink, other func()) { s.onRecord = other },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
				done := false
				meddle(sink, func() {
					if done {
						return
					}
					done = true
					e := sink.store.epochs[part(0)]
					sink.store.epochs[part(0)] = sdk.Epoch{Number: e.Number + 1, Token: [16]byte{7}}
				})
				if name == "start" {
					topic.initial = sdk.StartLatest // there is a void to be recorded
				}
				_, err := run(t, storeConfig(topic, sink))
				if err == nil || !strings.Contains(err.Error(), "taken over") || !strings.Contains(err.Error(), "This host (me)") {
					t.Fatalf("error %v", err)
				}
				if n := sink.store.epochs[part(0)].Number; n != 2 {
					t.Errorf("epoch %d: it acquired again", n)
				}
			})
		})
	}
}

// A source that is started again does not take streams back from a host that
// has taken them over meanwhile; if nobody has, it goes on, also if the sink
// died when it had issued the epochs.
func TestStoreManagedSourceStartsAgain(t *testing.T) {
	for name, c := range map[string]struct {
		takenOver, answerLost bool
		epoch                 uint64
	}{
		"alone":       {false, false, 2},
		"answer lost": {false, true, 3},
		"taken over":  {true, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 300), &fakeSink{store: newStore()}
				cfg := storeConfig(topic, sink)
				cfg.MemoryBudget = 4000 // so that no life delivers everything
				src, killed := cfg.Source.(*fakeSource), false
				sink.script = func(_ *fakeWriter, b *sdk.Batch) bool {
					// What is never answered is not fenced either.
					unanswered := c.takenOver && b.Spans[0].Epoch.Number == 1
					if killed {
						return unanswered
					}
					killed = true
					if c.takenOver {
						sink.store.mu.Lock()
						defer sink.store.mu.Unlock()
						sink.store.epochs[part(0)] = sdk.Epoch{Number: 2, Token: [16]byte{7}}
					}
					src.reader().ev.Fail(errors.New("killed"))
					return unanswered
				}
				sink.onAcquired = func() error {
					if c.answerLost && sink.store.epochs[part(0)].Number == 2 {
						return errors.New("the sink was killed")
					}
					return nil
				}
				_, err := run(t, cfg)
				n := sink.store.epochs[part(0)].Number
				switch {
				case n != c.epoch:
					t.Errorf("epoch %d, want %d", n, c.epoch)
				case !c.takenOver && err != nil:
					t.Error(err)
				case c.takenOver && (err == nil || !strings.Contains(err.Error(), "taken over") || !strings.Contains(err.Error(), "This host (me)")):
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// Without a store nobody would keep the position.
func TestStoreManagedNeedsAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		cfg := storeConfig(topic, sink)
		cfg.SinkCaps.OffsetStore = false
		if _, err := run(t, cfg); err == nil || !strings.Contains(err.Error(), "offset store") {
			t.Fatalf("error %v", err)
		}
	})
}
