package sink

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
)

// visible are the names that a reader of *.parquet sees.
func visible(m *disk.Mem) (out []string) {
	names, _ := m.Dir().List()
	for _, n := range names {
		if !strings.HasPrefix(n, ".") {
			out = append(out, n)
		}
	}
	return out
}

// Every operation of a session fails once, in turn. There is no receipt for
// what is not durable, and the next session repairs it.
func TestEachStepFailsOnce(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for step := range 60 {
			m := disk.NewMem()
			s := newSink(t, m, `,"row_group_rows":4`)
			e := acquire(t, s, "host", streamA)
			ses := openSession(t, s, sdk.GranularityBatch)
			n := step
			m.Fail = func(string, string) error {
				if n--; n == -1 {
					return cause
				}
				return nil
			}
			first, werr := ses.try(full(t, streamA, e, 0, 30))
			if werr == nil {
				ses.flush()
			}
			durable := werr == nil && ses.outcome(first) == sdk.Durable
			if werr == nil && !durable && !errors.Is(ses.failed, cause) {
				t.Fatalf("step %d: the session failed with %v", step, ses.failed)
			}
			m.Fail = nil
			if n >= 0 {
				return // no step is left
			}
			if durable {
				m.PowerCut(func(string) bool { return false })
				s = newSink(t, m, "")
			}
			ses = openSession(t, s, sdk.GranularityBatch)
			again := ses.write(full(t, streamA, e, 0, 30))
			ses.flush()
			if got := ses.outcome(again); got != sdk.Durable {
				t.Fatalf("step %d: sent again: %v, %v", step, got, ses.failed)
			}
			m.PowerCut(func(string) bool { return false })
			if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 30)) {
				t.Fatalf("step %d: positions %v", step, got)
			}
		}
	}
}

// Case 11: a process dies while it writes a file. Nobody sees the file, and
// the next process removes it.
func TestUnsealedFilesAreInvisible(t *testing.T) {
	m := disk.NewMem()
	dir := m.Dir()
	s := NewOn(func(string, bool) (disk.Dir, error) { return dir, nil })
	configure(t, s, "mem", `,"row_group_rows":4`)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 30))
	if names, _ := m.Dir().List(); len(names) != 1 || len(visible(m)) != 0 {
		t.Fatalf("entries %v", names)
	}
	dir.Kill()
	s = newSink(t, m, "")
	cov, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})
	if err != nil || cov[0].Set.FirstHole() != 0 {
		t.Errorf("coverage %v, %v", cov, err)
	}
	if names, _ := m.Dir().List(); len(names) != 0 {
		t.Errorf("entries %v", names)
	}
}

// A failed write of one batch must not let a later receipt pass.
func TestNoReceiptAfterFail(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	m.Fail = func(op, _ string) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	}
	one := ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	ses.flush()
	if got := ses.outcome(one); got != 0 {
		t.Fatalf("outcome %v", got)
	}
	m.Fail = nil
	if _, err := ses.try(full(t, streamA, sdk.Epoch{}, 10, 20)); err == nil {
		t.Error("a failed session takes batches")
	}
	if err := ses.Close(context.Background()); err == nil {
		t.Error("a failed session closes in good order")
	}
	if len(ses.receipts) != 0 || len(visible(m)) != 0 {
		t.Errorf("receipts %v, files %v", ses.receipts, visible(m))
	}
}

func TestDirectoryThatCannotBeOpened(t *testing.T) {
	s := New()
	configure(t, s, t.TempDir()+"/missing", `,"create":false`)
	_, err := s.Open(context.Background(), sdk.Session{ID: 1})
	if err == nil || !strings.Contains(err.Error(), "missing") || sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("%v", err)
	}
	if _, err := New().Open(context.Background(), sdk.Session{ID: 1}); sdk.KindOf(err) != sdk.KindFatal {
		t.Errorf("not configured: %v", err)
	}
}

func TestBatchesThatNoHostMaySend(t *testing.T) {
	for name, spoil := range map[string]func(b *sdk.Batch){
		"row outside of its span": func(b *sdk.Batch) { b.Spans[0].Next-- },
		"row before its span":     func(b *sdk.Batch) { b.Spans[0].From++ },
		"no span":                 func(b *sdk.Batch) { b.Spans = nil },
		"span of another stream":  func(b *sdk.Batch) { b.Spans[0].Stream = streamB },
		"no range":                func(b *sdk.Batch) { b.Spans[0].From = -1 },
		"too few ids":             func(b *sdk.Batch) { b.IDs = b.IDs[1:] },
		"rows out of order":       func(b *sdk.Batch) { b.Rows = []sdk.RowRange{{From: 3, To: 5}, {From: 0, To: 3}} },
		"rows past the end":       func(b *sdk.Batch) { b.Rows = []sdk.RowRange{{From: 0, To: 11}} },
	} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			ses := openSession(t, newSink(t, m, ""), sdk.GranularityBatch)
			b := full(t, streamA, sdk.Epoch{}, 0, 10)
			spoil(b)
			if _, err := ses.try(b); sdk.KindOf(err) != sdk.KindFatal {
				t.Errorf("%v", err)
			}
		})
	}
}

// A sealer that cannot finish makes Write wait, and Write gives up with its
// context.
func TestWriteWaitsForRoom(t *testing.T) {
	m := disk.NewMem()
	dir := stuckDir{m.Dir(), make(chan struct{}), make(chan struct{}), new(sync.Once)}
	s := NewOn(func(string, bool) (disk.Dir, error) { return dir, nil })
	configure(t, s, "mem", `,"max_file_rows":1`)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 1))
	<-dir.stuck
	ses.write(full(t, streamA, sdk.Epoch{}, 1, 2)) // waits for the sealer
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ses.Write(ctx, full(t, streamA, sdk.Epoch{}, 2, 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("a third file was begun: %v", err)
	}
	if err := ses.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	close(dir.release)
	next := openSession(t, s, sdk.GranularityBatch)
	seq := next.write(full(t, streamA, sdk.Epoch{}, 0, 3))
	next.flush()
	if got := next.outcome(seq); got != sdk.Durable {
		t.Fatal(got)
	}
	if len(ses.receipts) != 0 {
		t.Error("a receipt after Close")
	}
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 3)) {
		t.Errorf("positions %v", got)
	}
}
