package sink

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// deliver writes one file and waits for it.
func deliver(t testing.TB, ses *session, bs ...*sdk.Batch) {
	t.Helper()
	for _, b := range bs {
		ses.write(b)
	}
	ses.flush()
	if got := ses.outcome(ses.seq); got != sdk.Durable {
		t.Fatalf("%v, %v", got, ses.failed)
	}
}

func prune(t testing.TB, s *Sink, dry bool, ps ...sdk.Prune) string {
	t.Helper()
	got, err := s.Prune(context.Background(), ps, dry)
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for i, p := range got {
		if p.Stream != ps[i].Stream {
			t.Fatalf("pruned %+v, asked for %+v", got, ps)
		}
		out += fmt.Sprintf("%d:%d ", p.RawFloor, p.Rows)
	}
	return out
}

// A file is removed when all that it holds may go; rows are counted by stream.
func TestPruneRemovesWholeFiles(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, `,"row_group_rows":4`)
	ses := openSession(t, s, sdk.GranularityBatch)
	var e sdk.Epoch
	deliver(t, ses, full(t, streamA, e, 0, 10), full(t, streamB, e, 0, 5))
	deliver(t, ses, full(t, streamA, e, 10, 20), batchOf(t, streamB, e, 5, 50))
	deliver(t, ses, full(t, streamA, e, 20, 30), full(t, streamB, e, 50, 60))
	ask := func(dry bool, a, b int64) string {
		return prune(t, s, dry, sdk.Prune{Stream: streamA, Below: a}, sdk.Prune{Stream: streamB, Below: b})
	}
	for _, c := range []struct {
		a, b int64
		want string
	}{{9, 5, "0:0 0:0 "}, {10, 4, "0:0 0:0 "}, {10, 5, "10:10 5:5 "}, {29, 55, "20:20 50:5 "}, {30, 60, "30:30 60:15 "}} {
		if got := ask(true, c.a, c.b); got != c.want {
			t.Errorf("dry run below %d and %d: %s, want %s", c.a, c.b, got, c.want)
		}
	}
	if got := prune(t, s, false, sdk.Prune{Stream: streamA, Below: 100}); got != "0:0 " {
		t.Errorf("one stream of files that hold two: %s", got)
	}
	if got := ask(false, 25, 55); got != "20:20 50:5 " {
		t.Errorf("pruned %s", got)
	}
	if got := len(rows(t, m.Dir())); got != 20 {
		t.Errorf("%d rows are left", got)
	}
	for _, s := range []*Sink{s, newSink(t, m, "")} {
		f, err := s.Floors(context.Background(), "lake", []sdk.Stream{streamB, streamA})
		if err != nil || f[0].Raw != 50 || f[1].Raw != 20 {
			t.Errorf("floors %+v, %v", f, err)
		}
		if recs, read := replayAll(t, s, streamA, 0, 100); spansOf(read) != "[20,30)" || len(recs) != 10 {
			t.Errorf("replay: %s", spansOf(read))
		}
	}
}

// By age: up to the first row that is not older, and a row without a timestamp
// is kept.
func TestPruneByAge(t *testing.T) {
	for name, c := range map[string]struct {
		stamps []int64 // of files of one row of A
		other  int64   // of a row of B in each file
		want   string
	}{
		"all are older":               {[]int64{1, 2, 3}, 1, "3:3 3:3 "},
		"one is not":                  {[]int64{1, 2, 100, 3}, 1, "2:2 2:2 "},
		"just as old":                 {[]int64{99, 100}, 1, "1:1 1:1 "},
		"no timestamp":                {[]int64{1, -1, 2}, 1, "1:1 1:1 "},
		"zero is none":                {[]int64{0}, 1, "0:0 0:0 "},
		"another stream's is younger": {[]int64{1, 2}, 100, "0:0 0:0 "},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSink(t, disk.NewMem(), "")
			ses := openSession(t, s, sdk.GranularityBatch)
			for p, ms := range c.stamps {
				at := int64(p)
				deliver(t, ses, batchOf(t, streamA, sdk.Epoch{}, at, at+1, frame.Record{Position: at, TimestampMS: ms}),
					batchOf(t, streamB, sdk.Epoch{}, at, at+1, frame.Record{Position: at, TimestampMS: c.other}))
			}
			old := time.UnixMilli(100)
			if got := prune(t, s, false, sdk.Prune{Stream: streamA, Below: 99, OlderThan: old}, sdk.Prune{Stream: streamB, Below: 99, OlderThan: old}); got != c.want {
				t.Errorf("pruned %s, want %s", got, c.want)
			}
		})
	}
}

// What was sent again lies in a later file: the floor does not pass it.
func TestPruneWhereFilesAreNotInOrder(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	deliver(t, ses, full(t, streamA, sdk.Epoch{}, 0, 10))
	deliver(t, ses, full(t, streamA, sdk.Epoch{}, 20, 30))
	deliver(t, ses, full(t, streamA, sdk.Epoch{}, 10, 20))
	for _, c := range []struct {
		below int64
		want  string
	}{{20, "10:10 "}, {25, "10:0 "}, {30, "30:20 "}} {
		if got := prune(t, s, false, sdk.Prune{Stream: streamA, Below: c.below}); got != c.want {
			t.Errorf("below %d: %s, want %s", c.below, got, c.want)
		}
	}
	deliver(t, ses, full(t, streamA, sdk.Epoch{}, 25, 35)) // half of it was pruned
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(30, 35)) {
		t.Errorf("positions %v", got)
	}
}

// A Prune dies at any step, with or without the loss of power after it: no row
// is lost that is claimed, none is claimed that is lost, and the next Prune
// completes it.
func TestPruneCutShort(t *testing.T) {
	for step := range 60 {
		for _, keep := range []string{"no power cut", "nothing", "everything", "000000000002"} {
			m := disk.NewMem()
			s := newSink(t, m, "")
			ses := openSession(t, s, sdk.GranularityBatch)
			e := acquire(t, s, "host", streamA)
			for p := int64(0); p < 40; p += 10 {
				deliver(t, ses, full(t, streamA, e, p, p+10))
			}
			dir := m.Dir()
			pruner := NewOn(func(string, bool) (disk.Dir, error) { return dir, nil })
			configure(t, pruner, "mem", "")
			n := step
			m.Fail = func(string, string) error {
				if n--; n < 0 {
					return disk.ErrKilled
				}
				return nil
			}
			_, err := pruner.Prune(context.Background(), []sdk.Prune{{Stream: streamA, Below: 30}}, false)
			m.Fail = nil
			if n >= 0 {
				return
			}
			dir.Kill()
			if err == nil {
				t.Fatalf("step %d: no error", step)
			}
			if keep != "no power cut" {
				m.PowerCut(func(what string) bool { return keep == "everything" || strings.Contains(what, keep) })
			}
			checkPruned(t, newSink(t, m, ""), m, step)
		}
	}
	t.Error("there are more steps than were tried")
}

func checkPruned(t *testing.T, s *Sink, m *disk.Mem, step int) {
	t.Helper()
	c, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})
	if err != nil {
		t.Fatalf("step %d: %v", step, err)
	}
	there := positions(rows(t, m.Dir()))
	for _, i := range c[0].Set.Held() {
		for p := i.From; p < i.Next; p++ {
			if !slices.Contains(there, p) {
				t.Fatalf("step %d: position %d is claimed and not there", step, p)
			}
		}
	}
	if c[0].Set.FirstHole() != 40 || len(c[0].Set.HeldWithin(c[0].Set.Held()[0])) == 0 {
		t.Fatalf("step %d: first hole %d", step, c[0].Set.FirstHole())
	}
	got := prune(t, s, false, sdk.Prune{Stream: streamA, Below: 30})
	if now := positions(rows(t, m.Dir())); !slices.Equal(now, count(30, 40)) || !strings.HasPrefix(got, "30:") {
		t.Fatalf("step %d: pruned again to %s: %v", step, got, now)
	}
	if want := fmt.Sprintf("30:%d ", len(there)-10); got != want {
		t.Fatalf("step %d: pruned again %s, and there were %d rows to go", step, got, len(there)-10)
	}
}

// A host that writes goes on beside a Prune of all that it knows, at the worst
// with a new session.
func TestPruneBesideAWriter(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	deliver(t, ses, full(t, streamA, e, 0, 10))
	other := newSink(t, m, "")
	if got := prune(t, other, false, sdk.Prune{Stream: streamA, Below: 10}); got != "10:10 " {
		t.Fatal(got)
	}
	again := full(t, streamA, e, 10, 20)
	ses.write(again)
	ses.flush()
	if got := ses.outcome(ses.seq); got != sdk.Durable {
		if got != 0 || sdk.KindOf(ses.failed) != sdk.KindRetryable {
			t.Fatalf("%v, %v", got, ses.failed)
		}
		ses = openSession(t, s, sdk.GranularityBatch)
		deliver(t, ses, again)
	}
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(10, 20)) {
		t.Errorf("positions %v", got)
	}
	// Calls of the store go on by themselves.
	prune(t, other, false, sdk.Prune{Stream: streamA, Below: 20})
	for _, err := range []error{second(s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})), second(s.Streams(context.Background())),
		second(s.Acquire(context.Background(), "host", []sdk.Stream{streamA})), second(s.Floors(context.Background(), "l", []sdk.Stream{streamA}))} {
		if err != nil {
			t.Error(err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What cannot be read is not removed.
func TestPruneOfDamage(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, `,"compression":"none"`)
	ses := openSession(t, s, sdk.GranularityBatch)
	deliver(t, ses, full(t, streamA, sdk.Epoch{}, 0, 10), full(t, streamB, sdk.Epoch{}, 0, 10))
	b := slices.Clone(m.Bytes("000000000001.parquet"))
	b[len(b)-30] ^= 1
	m.Put("000000000001.parquet", b)
	_, err := s.Prune(context.Background(), []sdk.Prune{{Stream: streamA, Below: 10}, {Stream: streamB, Below: 10}}, false)
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "commit 1") || len(visible(m)) != 1 {
		t.Errorf("%v; files %v", err, visible(m))
	}
}
