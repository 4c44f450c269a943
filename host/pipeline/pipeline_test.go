package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func run(t *testing.T, cfg Config) (*Pipeline, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour) // of virtual time
	defer cancel()
	p := New(cfg)
	err := p.Run(ctx)
	if ctx.Err() != nil {
		t.Fatal("it did not end by itself")
	}
	return p, err
}

func TestDeliversAndCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(3, 100), &fakeSink{store: newStore()}
		p, err := run(t, config(topic, sink))
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if s := p.Status(); s.Records != 300 {
			t.Errorf("status says %d records", s.Records)
		}
	})
}

// A sink that acknowledges at close, a budget far below what it would hold,
// and one below a single record: Flush keeps both going.
func TestFlushPreventsDeadlock(t *testing.T) {
	for name, c := range map[string]struct {
		budget int64
		size   int
	}{"budget below a file": {20_000, 10}, "budget below a record": {1000, 5000}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(2, 60), &fakeSink{store: newStore(), hold: true}
				topic.valueSize = c.size
				cfg := config(topic, sink)
				cfg.MemoryBudget = c.budget
				if _, err := run(t, cfg); err != nil {
					t.Fatal(err)
				}
				wantAll(t, topic, sink.store)
			})
		})
	}
}

// Case 17: fewer records than a batch, then silence: max_ack_delay flushes.
func TestAckDelayFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 2), &fakeSink{store: newStore(), hold: true}
		cfg := config(topic, sink)
		cfg.UntilCaughtUp, cfg.MaxAckDelay = false, 5*time.Second
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(cfg).Run(ctx) }()
		time.Sleep(4 * time.Second) // of virtual time
		if c := topic.committedAt(part(0)); c > 0 {
			t.Errorf("committed %d before the delay", c)
		}
		time.Sleep(2 * time.Second)
		if c := topic.committedAt(part(0)); c != 2 {
			t.Errorf("committed %d after the delay, want 2", c)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// INV1, INV3: the sink's session fails again and again; what was unanswered is
// sent again, and an idempotent sink holds it once.
func TestSessionFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 90), &fakeSink{store: newStore()}
		sink.script = func(w *fakeWriter, b *sdk.Batch) bool {
			switch {
			case sink.batch%17 == 0: // written, then the session dies before the receipt
				sink.store.write(b)
				w.ses.Fail(errors.New("connection reset"))
				return true
			case sink.batch%13 == 0: // dies before the write
				w.ses.Fail(errors.New("connection reset"))
				return true
			}
			return false
		}
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if sink.opens < 4 {
			t.Errorf("only %d sessions: the test tests nothing", sink.opens)
		}
	})
}

// Case 7: one part of a batch is retryable: only that part is sent again.
func TestPartialRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 3), &fakeSink{store: newStore()}
		var second []sdk.Span
		var rows int
		sink.script = func(w *fakeWriter, b *sdk.Batch) bool {
			if sink.batch > 1 {
				second, rows = b.Spans, b.NumRows()
				return false
			}
			s := b.Spans[0]
			head := *b
			head.Spans = []sdk.Span{{Stream: s.Stream, From: 0, Next: 1, Run: s.Run, Epoch: s.Epoch}}
			head.Rows = []sdk.RowRange{{From: 0, To: 1}}
			sink.store.write(&head)
			w.ses.Report(sdk.Receipt{Session: w.ses.ID, Seq: b.Seq, Outcomes: []sdk.Outcome{
				{Stream: s.Stream, Run: s.Run, From: 0, Next: 1, Kind: sdk.Durable},
				{Stream: s.Stream, Run: s.Run, From: 1, Next: 3, Kind: sdk.Retryable, Reason: "busy"}}})
			return true
		}
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if len(second) != 1 || second[0].From != 1 || second[0].Next != 3 || rows != 2 {
			t.Errorf("sent again: %v with %d rows, want [1,3) with 2", second, rows)
		}
	})
}

// Q8: a record that the gating sink rejects halts the pipeline by name, and
// nothing at or after it is committed.
func TestRejectedRecordHalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.script = func(w *fakeWriter, b *sdk.Batch) bool {
			s := b.Spans[0]
			if s.From != 12 {
				return false
			}
			w.ses.Report(sdk.Receipt{Session: w.ses.ID, Seq: b.Seq, Outcomes: []sdk.Outcome{{Stream: s.Stream, Run: s.Run, From: 12, Next: 15,
				Kind: sdk.Rejected, Rejected: []sdk.RejectedRow{{Position: 13, Reason: "too odd"}}}}})
			return true
		}
		_, err := run(t, config(topic, sink))
		if err == nil || !strings.Contains(err.Error(), "position 13 of t/0") || !strings.Contains(err.Error(), "too odd") {
			t.Fatalf("error %v", err)
		}
		if c := topic.committedAt(part(0)); c != 12 {
			t.Errorf("committed %d, want 12", c)
		}
	})
}

func TestOversizeRecordHalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 3), &fakeSink{store: newStore()}
		topic.valueSize = 2000
		cfg := config(topic, sink)
		cfg.Limits = sdk.Limits{FrameRecords: 10, FrameBytes: 1000, MaxRecordBytes: 1500}
		_, err := run(t, cfg)
		if err == nil || !strings.Contains(err.Error(), "position 0 of t/0") || !strings.Contains(err.Error(), "max_record_bytes") {
			t.Fatalf("error %v", err)
		}
		if c := topic.committedAt(part(0)); c > 0 {
			t.Errorf("committed %d", c)
		}
	})
}

// A second host acquires the stream: this one is fenced, proves that its
// source still owns the stream, and acquires again.
func TestFencedThenAcquiresAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.script = func(_ *fakeWriter, b *sdk.Batch) bool {
			if sink.batch == 4 {
				sink.Acquire(nil, "other", []sdk.Stream{part(0)})
			}
			return false
		}
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
	})
}

// Two believers must not duel for ever: three fences in a minute halt.
func TestDuelHalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.script = func(_ *fakeWriter, b *sdk.Batch) bool {
			sink.Acquire(nil, "other", []sdk.Stream{part(0)})
			return false
		}
		if _, err := run(t, config(topic, sink)); err == nil || !strings.Contains(err.Error(), "two hosts") {
			t.Fatalf("error %v", err)
		}
	})
}

// Case 12: retention has removed the wanted positions.
func TestGapPolicy(t *testing.T) {
	for name, policy := range map[string]GapPolicy{"fail": GapFail, "continue": GapContinue} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
				sink.store.set(part(0)).AddHeld(coverage.Interval{From: 0, Next: 10})
				topic.starts[part(0)], topic.committed[part(0)] = 20, 10
				cfg := config(topic, sink)
				cfg.OnGap = policy
				p, err := run(t, cfg)
				if policy == GapFail {
					if err == nil || !strings.Contains(err.Error(), "on_gap") || topic.committedAt(part(0)) != 10 {
						t.Fatalf("error %v, committed %d", err, topic.committedAt(part(0)))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantAll(t, topic, sink.store)
				if p.Status().Alarms != 1 || sink.store.set(part(0)).FirstHole() != 30 {
					t.Errorf("alarms %d, coverage %v %v", p.Status().Alarms, sink.store.set(part(0)).Held(), sink.store.set(part(0)).Voids())
				}
			})
		})
	}
}

// The broker is ahead of raw, as after a restore: alarm, rewind, read again.
func TestBrokerAheadOfSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		topic.committed[part(0)] = 25
		p, err := run(t, config(topic, sink))
		if err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if p.Status().Alarms != 1 {
			t.Error("no alarm")
		}
	})
}

// `latest` is decided once: its void is in the store before the first batch.
func TestLatestIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		topic.initial = sdk.StartLatest
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		if hole := sink.store.set(part(0)).FirstHole(); hole != 30 {
			t.Errorf("first hole %d, want 30", hole)
		}
		topic.ends[part(0)] = 40 // a later run goes on there, though latest is now 40
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		if n := len(sink.store.rows[part(0)]); n != 10 {
			t.Errorf("%d rows, want 10", n)
		}
	})
}

// Revoke: what is in flight is made durable and committed before the source's
// callback returns; after it, nothing is committed.
func TestRevokeDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 30), &fakeSink{store: newStore(), hold: true}
		cfg := config(topic, sink)
		cfg.UntilCaughtUp = false
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(cfg).Run(ctx) }()
		time.Sleep(time.Second)
		r := cfg.Source.(*fakeSource).reader()
		if err := r.ev.Revoking(ctx, []uint64{r.runOf(part(0))}, time.Now().Add(10*time.Second)); err != nil {
			t.Error(err)
		}
		if c := topic.committedAt(part(0)); c != 30 {
			t.Errorf("committed %d when the callback returned, want 30", c)
		}
		n := len(topic.allCommits())
		time.Sleep(time.Minute)
		for _, m := range topic.allCommits()[n:] {
			if m.Stream == part(0) {
				t.Errorf("a commit after the revoke: %+v", m)
			}
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The source dies; the host opens a new one and goes on where raw's coverage
// ends.
func TestSourceRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 300), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.MemoryBudget = 4000 // so that no life delivers everything
		src := cfg.Source.(*fakeSource)
		sink.script = func(*fakeWriter, *sdk.Batch) bool {
			if sink.batch%20 == 0 {
				src.reader().ev.Fail(errors.New("killed"))
			}
			return false
		}
		if _, err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if src.opens < 3 {
			t.Errorf("only %d lives: the test tests nothing", src.opens)
		}
	})
}

// Case 15: a stop while the sink is in backoff is prompt.
func TestStopDuringBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.script = func(w *fakeWriter, _ *sdk.Batch) bool {
			w.ses.Fail(errors.New("database is away"))
			return true
		}
		cfg := config(topic, sink)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(cfg).Run(ctx) }()
		time.Sleep(20 * time.Second)
		cancel()
		began := time.Now()
		if err := <-done; err != nil || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		opens := sink.opens
		time.Sleep(time.Minute)
		if sink.opens != opens {
			t.Error("it went on after the stop")
		}
	})
}

// A sink that never answers cannot hold a stop beyond shutdown_timeout.
func TestStopIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.script = func(*fakeWriter, *sdk.Batch) bool { return true }
		cfg := config(topic, sink)
		cfg.ShutdownTimeout = 7 * time.Second
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- New(cfg).Run(ctx) }()
		time.Sleep(time.Second)
		cancel()
		began := time.Now()
		if err := <-done; !errors.Is(err, ErrShutdownTimeout) || time.Since(began) > cfg.ShutdownTimeout {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// A commit that fails is tried again; the sink's side is not disturbed.
func TestCommitFailuresAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		topic.commitErr = errors.New("coordinator is loading")
		time.AfterFunc(3*time.Second, func() {
			topic.mu.Lock()
			topic.commitErr = nil
			topic.mu.Unlock()
		})
		if _, err := run(t, config(topic, sink)); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if sink.opens != 1 {
			t.Errorf("%d sessions", sink.opens)
		}
	})
}

// faults.md: a sink that answers for what was never sent, or twice.
func TestSinkBreaksTheProtocol(t *testing.T) {
	for name, lie := range map[string]func(w *fakeWriter, b *sdk.Batch){
		"a batch never sent": func(w *fakeWriter, b *sdk.Batch) {
			w.ses.Report(sdk.Receipt{Session: w.ses.ID, Seq: b.Seq + 1000, Outcomes: sdk.AllDurable(w.ses.ID, b).Outcomes})
		},
		"written, of a sink that gates": func(w *fakeWriter, b *sdk.Batch) {
			w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Written, ""))
			w.ses.Flushed(b.Seq)
		},
		"beyond the span": func(w *fakeWriter, b *sdk.Batch) {
			r := sdk.AllDurable(w.ses.ID, b)
			r.Outcomes[0].Next += 5
			w.ses.Report(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
				sink.script = func(w *fakeWriter, b *sdk.Batch) bool {
					if sink.batch != 3 {
						return false
					}
					lie(w, b)
					return true
				}
				if _, err := run(t, config(topic, sink)); err != nil {
					t.Fatal(err)
				}
				wantAll(t, topic, sink.store)
				if sink.opens != 2 {
					t.Errorf("%d sessions, want 2", sink.opens)
				}
			})
		})
	}
}
