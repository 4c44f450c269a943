package dirlog

import (
	"context"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

var (
	streamA = sdk.Stream{Cluster: "c", Topic: "a", Incarnation: "i", Partition: 0}
	streamB = sdk.Stream{Cluster: "c", Topic: "b", Partition: 1}
)

func open(t testing.TB, m *disk.Mem) *Log {
	t.Helper()
	l, err := Open(context.Background(), m.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func last(l *Log) uint64       { return l.log.Last() }
func checkpoint(l *Log) uint64 { return l.log.Checkpoint() }

func acquire(t testing.TB, l *Log, owner string, s sdk.Stream) sdk.Epoch {
	t.Helper()
	a, err := l.Acquire(context.Background(), owner, []sdk.Stream{s})
	if err != nil {
		t.Fatal(err)
	}
	return a[0].Epoch
}

// commit tries to commit one span of no rows.
func commit(l *Log, s sdk.Stream, e sdk.Epoch, from, next int64) (*Rollback, error) {
	f := &footer.Footer{CommitID: NewCommitID(), Kind: footer.Data,
		Spans: []footer.Span{{Stream: s, Interval: coverage.Interval{From: from, Next: next}}}}
	if !e.IsZero() {
		f.Epochs = []footer.Epoch{{Stream: s, Epoch: e}}
	}
	tmp, err := l.Temp()
	if err != nil {
		return nil, err
	}
	defer tmp.Discard()
	if err := rawfile.Empty(tmp, f); err != nil {
		return nil, err
	}
	if err := tmp.Sync(); err != nil {
		return nil, err
	}
	return l.Commit(context.Background(), tmp, f, []Claim{{s, e}})
}

func mustCommit(t testing.TB, l *Log, s sdk.Stream, e sdk.Epoch, from, next int64) {
	t.Helper()
	if rb, err := commit(l, s, e, from, next); rb != nil || err != nil {
		t.Fatalf("commit [%d,%d): %+v, %v", from, next, rb, err)
	}
}

func held(t testing.TB, l *Log, s sdk.Stream) *coverage.Set {
	t.Helper()
	c, err := l.Coverage(context.Background(), []sdk.Stream{s})
	if err != nil {
		t.Fatal(err)
	}
	return c[0].Set
}

func TestCommitsAreThereAfterOpen(t *testing.T) {
	m := disk.NewMem()
	l := open(t, m)
	e := acquire(t, l, "host-1", streamA)
	mustCommit(t, l, streamA, e, 0, 10)
	mustCommit(t, l, streamA, e, 10, 25)
	for name, log := range map[string]*Log{"same": l, "opened again": open(t, m)} {
		if h := held(t, log, streamA).FirstHole(); h != 25 {
			t.Errorf("%s: first hole is %d", name, h)
		}
	}
	if names, _ := m.Dir().List(); len(names) != 3 {
		t.Errorf("entries: %v", names)
	}
}

func TestFence(t *testing.T) {
	m := disk.NewMem()
	old, young := open(t, m), open(t, m)
	e1 := acquire(t, old, "host-1", streamA)
	mustCommit(t, old, streamA, e1, 0, 10)
	a, err := young.Acquire(context.Background(), "host-2", []sdk.Stream{streamA})
	if err != nil || a[0].Epoch.Number != 2 || a[0].Previous != "host-1" {
		t.Fatalf("acquired %+v, %v", a, err)
	}
	rb, err := commit(old, streamA, e1, 10, 20)
	if err != nil || rb == nil || len(rb.Fenced) != 1 {
		t.Fatalf("an old epoch committed: %+v, %v", rb, err)
	}
	sameNumber := sdk.Epoch{Number: 2, Token: e1.Token}
	if rb, err := commit(old, streamA, sameNumber, 10, 20); err != nil || rb == nil {
		t.Fatalf("an epoch of another token committed: %+v, %v", rb, err)
	}
	if rb, err := commit(old, streamA, sdk.Epoch{}, 10, 20); err != nil || rb == nil {
		t.Fatalf("no epoch committed: %+v, %v", rb, err)
	}
	mustCommit(t, old, streamB, sdk.Epoch{}, 0, 5)
	mustCommit(t, young, streamA, a[0].Epoch, 10, 20)
}

func TestOverlapIsRolledBack(t *testing.T) {
	m := disk.NewMem()
	one, two := open(t, m), open(t, m)
	mustCommit(t, one, streamA, sdk.Epoch{}, 0, 10)
	rb, err := commit(two, streamA, sdk.Epoch{}, 5, 15)
	if err != nil || rb == nil || !rb.Overlap {
		t.Fatalf("%+v, %v", rb, err)
	}
	if got := two.Missing(streamA, coverage.Interval{From: 5, Next: 15}); len(got) != 1 || got[0].From != 10 {
		t.Fatalf("missing %v", got)
	}
}

func TestCheckpointStandsForWhatIsBeforeIt(t *testing.T) {
	m := disk.NewMem()
	l := open(t, m)
	e := acquire(t, l, "host-1", streamA)
	for i := range int64(linklog.CheckpointEvery + 10) {
		mustCommit(t, l, streamA, e, 2*i, 2*i+1)
	}
	want := open(t, m)
	if checkpoint(want) == 0 {
		t.Fatal("no checkpoint was written")
	}
	for n := uint64(1); n < checkpoint(want); n++ {
		m.Delete(FileName(n))
	}
	got := open(t, m)
	if g, w := len(held(t, got, streamA).Held()), linklog.CheckpointEvery+10; g != w {
		t.Errorf("%d intervals after old commits are gone, want %d", g, w)
	}
	mustCommit(t, got, streamA, e, 1, 2)
	m.Delete(FileName(checkpoint(got) + 1))
	if _, err := Open(context.Background(), m.Dir()); sdk.KindOf(err) != sdk.KindFatal {
		t.Errorf("a hole above the checkpoint was accepted: %v", err)
	}
}
