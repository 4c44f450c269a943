package dirlog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// dieAt makes every operation fail from the nth one of a kind on.
func dieAt(m *disk.Mem, op string, nth int) {
	m.Fail = func(o, _ string) error {
		if o == op {
			nth--
		}
		if nth < 0 {
			return disk.ErrKilled
		}
		return nil
	}
}

// A writer links n and dies; another reads n, links n+1 and dies; the power
// cut keeps n+1 only, if it can.
func TestPowerCutLeavesNoHole(t *testing.T) {
	m := disk.NewMem()
	one, two := open(t, m), open(t, m)
	dieAt(m, "syncdir", 0)
	if _, err := commit(one, streamA, sdk.Epoch{}, 0, 1); err == nil {
		t.Fatal("a commit without its fsync was reported")
	}
	dieAt(m, "syncdir", 1) // the one that covers n-1 works
	if _, err := commit(two, streamB, sdk.Epoch{}, 0, 1); err == nil {
		t.Fatal("a commit without its fsync was reported")
	}
	m.Fail = nil
	m.PowerCut(func(what string) bool { return what == "link "+FileName(2) })
	l := open(t, m)
	if last(l) != 2 {
		t.Errorf("%d commits survived", last(l))
	}
}

// linkLies does the work of a link and reports an error.
type linkLies struct {
	disk.Dir
	err error
}

func (d *linkLies) Link(from, to string) error {
	if err := d.Dir.Link(from, to); err != nil || d.err == nil {
		return err
	}
	return d.err
}

func TestAmbiguousLinkIsSettledByCommitID(t *testing.T) {
	for name, lie := range map[string]error{"exists": syscall.EEXIST, "failed": syscall.EIO} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			l, err := Open(context.Background(), &linkLies{m.Dir(), lie})
			if err != nil {
				t.Fatal(err)
			}
			mustCommit(t, l, streamA, sdk.Epoch{}, 0, 10)
			e := acquire(t, l, "host", streamA)
			mustCommit(t, l, streamA, e, 10, 20)
			if got := open(t, m); last(got) != 3 || held(t, got, streamA).FirstHole() != 20 {
				t.Errorf("%d commits, %v", last(got), held(t, got, streamA))
			}
		})
	}
}

// Every operation fails once, in turn; nothing is lost and nothing is there
// twice, and once there is space again it works.
func TestEachStepFailsOnce(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for step := range 40 {
			m := disk.NewMem()
			l := open(t, m)
			e := acquire(t, l, "host", streamA)
			n := step
			m.Fail = func(op, name string) error {
				if n--; n == -1 {
					return cause
				}
				return nil
			}
			rb, err := commit(l, streamA, e, 0, 10)
			m.Fail = nil
			if n >= 0 {
				return // no step is left
			}
			if err == nil && rb == nil {
				m.PowerCut(func(string) bool { return false })
				l = open(t, m)
				if held(t, l, streamA).FirstHole() != 10 {
					t.Fatalf("step %d: reported and lost", step)
				}
				continue
			}
			if !errors.Is(err, cause) || sdk.KindOf(err) != sdk.KindRetryable {
				t.Errorf("step %d: %v", step, err)
			}
			if l.Broken() != nil {
				l = open(t, m)
			}
			for _, i := range l.Missing(streamA, coverage.Interval{From: 0, Next: 10}) {
				mustCommit(t, l, streamA, e, i.From, i.Next)
			}
			if _, err := readDumb(m, false); err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			m.PowerCut(func(string) bool { return false })
			if got := held(t, open(t, m), streamA).FirstHole(); got != 10 {
				t.Fatalf("step %d: first hole %d", step, got)
			}
		}
	}
}

// broken returns a log that is broken by an fsync after its only commit.
func broken(t *testing.T, m *disk.Mem) *Log {
	t.Helper()
	l := open(t, m)
	m.Fail = func(op, _ string) error {
		if op == "syncdir" {
			return syscall.EIO
		}
		return nil
	}
	if _, err := commit(l, streamA, sdk.Epoch{}, 0, 10); !errors.Is(err, syscall.EIO) {
		t.Fatalf("commit: %v", err)
	}
	m.Fail = nil
	return l
}

func TestBrokenLogRefusesEverything(t *testing.T) {
	l := broken(t, disk.NewMem())
	if _, err := commit(l, streamA, sdk.Epoch{}, 10, 20); !errors.Is(err, syscall.EIO) {
		t.Errorf("commit: %v", err)
	}
	if _, err := l.Coverage(context.Background(), modelStreams); !errors.Is(err, syscall.EIO) {
		t.Errorf("coverage: %v", err)
	}
	if _, err := l.Settle(context.Background(), nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("settle: %v", err)
	}
	if err := l.Record(context.Background(), nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("record: %v", err)
	}
}

// Where it is not known whether a commit is the log's end, it stays: another
// writer may have built on it.
func TestCommitStaysWhereNothingIsKnown(t *testing.T) {
	m := disk.NewMem()
	one, two := open(t, m), open(t, m)
	mustCommit(t, one, streamA, sdk.Epoch{}, 0, 10)
	linked := false
	m.Fail = func(op, _ string) error {
		if linked && op == "open" {
			return syscall.EIO
		}
		linked = linked || op == "link"
		return nil
	}
	if _, err := commit(one, streamA, sdk.Epoch{}, 10, 20); !errors.Is(err, syscall.EIO) {
		t.Fatalf("commit: %v", err)
	}
	m.Fail = nil
	if got := held(t, two, streamA).FirstHole(); got != 20 {
		t.Errorf("first hole %d", got)
	}
}

// The commit's name is in no fsync that succeeded. A new Log has to make it
// durable, and an fsync alone would report success and change nothing.
func TestOpenAfterFailedFsync(t *testing.T) {
	m := disk.NewMem()
	broken(t, m)
	if got := held(t, open(t, m), streamA).FirstHole(); got != 10 {
		t.Fatalf("first hole %d", got)
	}
	m.PowerCut(func(string) bool { return false })
	if got := held(t, open(t, m), streamA).FirstHole(); got != 10 {
		t.Errorf("coverage that was told is gone: first hole %d", got)
	}
}

func TestDamage(t *testing.T) {
	foreign := []byte("PAR1\x15\x02\x19\x00\x04\x00\x00\x00PAR1")
	for name, c := range map[string]struct {
		do   func(m *disk.Mem)
		want []string
	}{
		"cut short": {func(m *disk.Mem) { b := m.Bytes(FileName(2)); m.Put(FileName(2), b[:len(b)-1]) },
			[]string{"commit 2 (000000000002.parquet)", "cut short", "restore the file from a backup"}},
		"four bytes": {func(m *disk.Mem) { m.Put(FileName(2), []byte("PAR1")) }, []string{"commit 2", "cut short"}},
		"empty":      {func(m *disk.Mem) { m.Put(FileName(3), nil) }, []string{"commit 3", "cut short"}},
		"bit flip": {func(m *disk.Mem) {
			b := slices.Clone(m.Bytes(FileName(2)))
			b[len(b)-100] ^= 1
			m.Put(FileName(2), b)
		}, []string{"commit 2", "damaged"}},
		"missing":       {func(m *disk.Mem) { m.Delete(FileName(2)) }, []string{"commit 2 (000000000002.parquet) is missing", "newest is 3", "restore"}},
		"first missing": {func(m *disk.Mem) { m.Delete(FileName(1)) }, []string{"commit 1", "missing"}},
		"other tool":    {func(m *disk.Mem) { m.Put(FileName(4), foreign) }, []string{"commit 4", "not written by twg"}},
		"twice":         {func(m *disk.Mem) { m.Put(FileName(4), m.Bytes(FileName(3))) }, []string{"commit 4", "earlier commit holds too"}},
		"other width":   {func(m *disk.Mem) { m.Put("4.parquet", nil) }, []string{"4.parquet", "move it out"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			l := open(t, m)
			for p := int64(0); p < 30; p += 10 {
				mustCommit(t, l, streamA, sdk.Epoch{}, p, p+10)
			}
			c.do(m)
			_, err := Open(context.Background(), m.Dir())
			if sdk.KindOf(err) != sdk.KindFatal {
				t.Fatalf("opened: %v", err)
			}
			for _, want := range append(c.want, "open log mem") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	m := disk.NewMem()
	for _, name := range []string{"README", "part-0.parquet", "_twg", ".hidden", "x1.parquet"} {
		m.Put(name, []byte("x"))
	}
	mustCommit(t, open(t, m), streamA, sdk.Epoch{}, 0, 10)
	open(t, m)
	if names, _ := m.Dir().List(); len(names) != 6 {
		t.Errorf("entries %v", names)
	}
}

func TestTempsOfTheDeadAreRemoved(t *testing.T) {
	m := disk.NewMem()
	dead, living := m.Dir(), open(t, m)
	if f, err := dead.Create(".twg-dead-1.tmp"); err != nil {
		t.Fatal(err)
	} else {
		f.Write([]byte("PAR1")) // case 11
	}
	dead.Kill()
	if _, err := living.Temp(); err != nil {
		t.Fatal(err)
	}
	open(t, m)
	if names, _ := m.Dir().List(); len(names) != 1 || strings.Contains(names[0], "dead") {
		t.Errorf("entries %v", names)
	}
}

// What two writers do at once ends as if they had taken turns.
func TestTwoWriters(t *testing.T) {
	m := disk.NewMem()
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			l := open(t, m)
			s := modelStreams[w]
			e := acquire(t, l, fmt.Sprint("writer ", w), s)
			for p := range int64(linklog.CheckpointEvery) {
				mustCommit(t, l, s, e, p, p+1)
				if p%10 == 0 { // both want this stream
					commit(l, sdk.Stream{Topic: "both"}, sdk.Epoch{}, p, p+1)
				}
			}
		})
	}
	wg.Wait()
	d, err := readDumb(m, false)
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, m)
	for _, s := range modelStreams {
		if got := held(t, l, s).FirstHole(); got != linklog.CheckpointEvery {
			t.Errorf("%s: first hole %d", s, got)
		}
	}
	for p := int64(0); p < linklog.CheckpointEvery; p += 10 {
		if !d.held[cell{sdk.Stream{Topic: "both"}, p}] {
			t.Errorf("position %d, which both wrote, is not there", p)
		}
	}
}

func TestRecordTakesOnlyWhatIsNew(t *testing.T) {
	m := disk.NewMem()
	l := open(t, m)
	e := acquire(t, l, "host", streamA)
	mustCommit(t, l, streamA, e, 5, 10)
	void := func(from, next int64) []sdk.CoverageRecord {
		return []sdk.CoverageRecord{{Stream: streamA, Epoch: e,
			Void: []coverage.Void{{Interval: coverage.Interval{From: from, Next: next}, Reason: coverage.Retention}}}}
	}
	for range 2 { // the second time nothing is new
		if err := l.Record(context.Background(), void(0, 8)); err != nil {
			t.Fatal(err)
		}
	}
	set := held(t, open(t, m), streamA)
	want := []coverage.Void{{Interval: coverage.Interval{From: 0, Next: 5}, Reason: coverage.Retention}}
	if got := set.Voids(); !slices.Equal(got, want) || set.FirstHole() != 10 {
		t.Errorf("voids %v, first hole %d", got, set.FirstHole())
	}
	if last(l) != 3 {
		t.Errorf("%d commits", last(l))
	}
	acquire(t, open(t, m), "other", streamA)
	if err := l.Record(context.Background(), void(20, 30)); sdk.KindOf(err) != sdk.KindFenced || !strings.Contains(err.Error(), "other") {
		t.Errorf("an old epoch recorded: %v", err)
	}
}

func TestCheckpointKeepsEverything(t *testing.T) {
	m := disk.NewMem()
	l := open(t, m)
	e := acquire(t, l, "host \xff", streamA)
	mustCommit(t, l, streamA, e, 0, 10)
	l.Record(context.Background(), []sdk.CoverageRecord{{Stream: streamA, Epoch: e, Void: []coverage.Void{{Interval: coverage.Interval{From: 20, Next: 30}, Reason: coverage.Seek}}}})
	f := &footer.Footer{Kind: footer.Record, Cursors: []sdk.Cursor{{Stream: streamA, Position: 10, Token: []byte{0, 255}}, {Stream: streamA, Position: 40, Token: nil}}}
	if err := l.log.Append(context.Background(), func() (*Temp, *footer.Footer, error) { return l.plain(f) }); err != nil {
		t.Fatal(err)
	}
	before := l.st.whole()
	l.log.Every = 1
	mustCommit(t, l, streamB, sdk.Epoch{}, 0, 1)
	for n := uint64(1); n < checkpoint(l); n++ {
		m.Delete(FileName(n))
	}
	after := open(t, m).st
	delete(after.streams, streamB)
	before.Epochs[0].Owner = after.streams[streamA].owner // JSON is UTF-8
	now := after.whole()
	now.CommitID = before.CommitID
	if a, b := fmt.Sprintf("%+v", now), fmt.Sprintf("%+v", before); a != b {
		t.Errorf("after the checkpoint\n%s\nbefore it\n%s", a, b)
	}
}
