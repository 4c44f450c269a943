package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// ownedSource is a fakeSource whose calls a test may refuse, and whose commits
// it watches.
type ownedSource struct {
	fakeSource
	refuseCommit func(sdk.Mark) error
	refuseStart  func([]sdk.Start) error
	resolveErr   func() error
	takes        time.Duration // a commit
	commits, max atomic.Int32  // under way, and the most of them
}

func (s *ownedSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	r, err := s.fakeSource.Open(ctx, ev)
	return ownedReader{r, s}, err
}

type ownedReader struct {
	sdk.Reader
	s *ownedSource
}

func (r ownedReader) Commit(ctx context.Context, ms []sdk.Mark) []error {
	r.s.max.Store(max(r.s.max.Load(), r.s.commits.Add(1)))
	defer r.s.commits.Add(-1)
	pause(ctx, r.s.takes)
	for _, m := range ms {
		if r.s.refuseCommit == nil {
			break
		}
		if err := r.s.refuseCommit(m); err != nil {
			return allMarks(ms, err)
		}
	}
	return r.Reader.Commit(ctx, ms)
}

func (r ownedReader) Start(ctx context.Context, sts []sdk.Start) error {
	if r.s.refuseStart != nil {
		if err := r.s.refuseStart(sts); err != nil {
			return err
		}
	}
	return r.Reader.Start(ctx, sts)
}

func (r ownedReader) Resolve(ctx context.Context, qs []sdk.Query) ([]sdk.Resolved, error) {
	if r.s.resolveErr != nil {
		if err := r.s.resolveErr(); err != nil {
			return nil, err
		}
	}
	return r.Reader.Resolve(ctx, qs)
}

// runFor runs a pipeline for some virtual time and stops it.
func runFor(t *testing.T, cfg Config, d time.Duration) error {
	t.Helper()
	cfg.UntilCaughtUp = false
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return New(cfg).Run(ctx)
}

var errGone = sdk.Errorf(sdk.KindFenced, "commit", "the group has not assigned it")

// A zombie that is fenced before it has committed anything must prove itself
// too: the position that it started at is durable, so it can.
func TestFencedBeforeTheFirstCommitProves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.store.set(part(0)).AddHeld(coverage.Interval{From: 0, Next: 10})
		topic.committed[part(0)] = 10 // nothing is to be committed at the start
		sink.script = func(_ *fakeWriter, _ *sdk.Batch) bool {
			if sink.batch == 1 {
				sink.Acquire(nil, "the new owner", []sdk.Stream{part(0)})
			}
			return false
		}
		cfg := config(topic, sink)
		cfg.Source = &ownedSource{fakeSource: fakeSource{topic: topic}, refuseCommit: func(sdk.Mark) error { return errGone }}
		if err := runFor(t, cfg, time.Minute); err != nil {
			t.Error(err)
		}
		if n := sink.store.epochs[part(0)].Number; n != 2 {
			t.Errorf("epoch %d: the zombie acquired again", n)
		}
	})
}

// An attempt to start that failed after it had acquired does not acquire
// again: somebody else may have, and it would be fenced without a proof.
func TestRetriesOfAStartKeepTheirEpochs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 30), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		tries := 0
		cfg.Source = &ownedSource{fakeSource: fakeSource{topic: topic}, resolveErr: func() error {
			if tries++; tries < 5 {
				return errors.New("no leader")
			}
			return nil
		}}
		if _, err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if n := sink.store.epochs[part(0)].Number; n != 1 || tries != 5 {
			t.Errorf("epoch %d after %d tries, want 1 after 5", n, tries)
		}
	})
}

// One of three streams was revoked before it was started: the others start,
// and the new owner's epoch stays what it is.
func TestStartOfWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(3, 30), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.Source = &ownedSource{fakeSource: fakeSource{topic: topic}, refuseStart: func(sts []sdk.Start) error {
			for _, st := range sts {
				if st.Stream == part(1) {
					return errGone
				}
			}
			return nil
		}}
		if err := runFor(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		if topic.committedAt(part(0)) != 30 || topic.committedAt(part(2)) != 30 || len(sink.store.rows[part(1)]) > 0 {
			t.Errorf("committed %v, %d rows of what was revoked", topic.committed, len(sink.store.rows[part(1)]))
		}
		for i := range 3 {
			if n := sink.store.epochs[part(i)].Number; n != 1 {
				t.Errorf("%s has epoch %d, want 1", part(i), n)
			}
		}
	})
}

// A void of a gap is fenced by a host that is about to go. The proof must not
// be refused because the source still has the run that met the gap.
func TestGapWhoseVoidIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 30), &fakeSink{store: newStore()}
		sink.store.set(part(0)).AddHeld(coverage.Interval{From: 0, Next: 10})
		topic.starts[part(0)], topic.committed[part(0)] = 20, 10
		cfg := config(topic, sink)
		cfg.OnGap = GapContinue
		src := &ownedSource{fakeSource: fakeSource{topic: topic}}
		src.refuseCommit = func(m sdk.Mark) error {
			if r := src.reader(); r.hasOther(m) {
				return errGone
			}
			return nil
		}
		cfg.Source = src
		records := 0
		sink.onRecord = func() {
			if records++; records == 1 {
				e := sink.store.epochs[part(0)]
				e.Number++
				sink.store.epochs[part(0)] = e
			}
		}
		if _, err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
	})
}

// A sink without a store: start positions are committed first, and still only
// one commit is under way, or settled would not know of it.
func TestOneCommitAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(3, 60), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.SinkCaps = sdk.Capabilities{Durable: true}
		src := &ownedSource{fakeSource: fakeSource{topic: topic}, takes: 300 * time.Millisecond}
		cfg.Source = src
		if _, err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if n := src.max.Load(); n != 1 {
			t.Errorf("%d commits at once", n)
		}
	})
}

// A stream is revoked and assigned again while its start is still under way:
// the source need not tell, since there was no run. The late start must not
// replace the run of the second one.
func TestStartThatIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 60), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.SinkCaps = sdk.Capabilities{Durable: true} // the start is committed first, and that takes long
		src := &ownedSource{fakeSource: fakeSource{topic: topic}, takes: time.Second}
		cfg.Source = src
		time.AfterFunc(100*time.Millisecond, func() {
			src.reader().ev.Assigned(t.Context(), []sdk.Assignment{{Stream: part(0), Committed: 0, Initial: sdk.StartEarliest}})
		})
		time.AfterFunc(10*time.Second, func() {
			topic.mu.Lock()
			defer topic.mu.Unlock()
			topic.ends[part(0)] = 90
		})
		if err := runFor(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
	})
}

// The same, with `latest` and no store: what was decided and committed first
// counts, though the second assignment does not know of it.
func TestLatestIsDecidedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 60), &fakeSink{store: newStore()}
		topic.initial = sdk.StartLatest
		cfg := config(topic, sink)
		cfg.SinkCaps = sdk.Capabilities{Durable: true}
		src := &ownedSource{fakeSource: fakeSource{topic: topic}, takes: time.Second}
		cfg.Source = src
		time.AfterFunc(100*time.Millisecond, func() {
			topic.mu.Lock()
			topic.ends[part(0)] = 80
			topic.mu.Unlock()
			src.reader().ev.Assigned(t.Context(), []sdk.Assignment{{Stream: part(0), Committed: sdk.NoPosition, Initial: sdk.StartLatest}})
		})
		if err := runFor(t, cfg, time.Minute); err != nil {
			t.Fatal(err)
		}
		if n := len(sink.store.rows[part(0)]); n != 20 {
			t.Errorf("%d records, want the 20 that came after the first decision", n)
		}
	})
}

// A commit that can never work halts: records would flow, and no position
// would ever follow them.
func TestFatalCommitHalts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(2, 30), &fakeSink{store: newStore()}
		cfg := config(topic, sink)
		cfg.Source = &ownedSource{fakeSource: fakeSource{topic: topic}, refuseCommit: func(m sdk.Mark) error {
			if m.Stream == part(1) {
				return sdk.Errorf(sdk.KindFatal, "commit", "the user may not use the group")
			}
			return nil
		}}
		if _, err := run(t, cfg); sdk.KindOf(err) != sdk.KindFatal {
			t.Errorf("error %v, want the fatal one", err)
		}
	})
}
