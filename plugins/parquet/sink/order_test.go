package sink

import (
	"sync"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
)

// stuck returns a sink whose first data file waits, fsync not done, for
// release.
func stuck(t *testing.T, m *disk.Mem) (*Sink, stuckDir) {
	t.Helper()
	dir := stuckDir{m.Dir(), make(chan struct{}), make(chan struct{}), new(sync.Once)}
	s := NewOn(func(string, bool) (disk.Dir, error) { return dir, nil })
	configure(t, s, "mem", "")
	return s, dir
}

// What a file left out because an earlier one was to hold it is not durable
// when the earlier one is rolled back.
func TestRollbackTakesLaterFilesWithIt(t *testing.T) {
	m := disk.NewMem()
	other := newSink(t, m, "")
	a, b := acquire(t, other, "host", streamA), acquire(t, other, "host", streamB)
	s, dir := stuck(t, m)
	ses := openSession(t, s, sdk.GranularityBatch)
	one, two := ses.write(full(t, streamA, a, 0, 10)), ses.write(full(t, streamB, b, 0, 10))
	ses.flush()
	<-dir.stuck
	three := ses.write(full(t, streamB, b, 0, 10)) // again; it adds no row
	ses.flush()
	acquire(t, other, "host 2", streamA)
	close(dir.release)
	for seq, want := range map[uint64]sdk.OutcomeKind{one: sdk.Fenced, two: sdk.Retryable, three: sdk.Retryable} {
		if got := ses.outcome(seq); got != want {
			t.Errorf("batch %d: %v, want %v", seq, got, want)
		}
	}
	if got := rows(t, m.Dir()); len(got) != 0 {
		t.Errorf("rows %v", got)
	}
}

// Rows that are held already are fenced all the same.
func TestHeldRowsAreFenced(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, e, 0, 10))
	ses.flush()
	if got := ses.outcome(1); got != sdk.Durable {
		t.Fatal(got)
	}
	acquire(t, newSink(t, m, ""), "host 2", streamA)
	again := ses.write(full(t, streamA, e, 0, 10))
	ses.flush()
	if got := ses.outcome(again); got != sdk.Fenced {
		t.Errorf("an old epoch is %v", got)
	}
}

// After Write has returned an error the session is over: what the sealer
// still commits is not reported.
func TestNoReceiptAfterWriteFailed(t *testing.T) {
	m := disk.NewMem()
	s, dir := stuck(t, m)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	ses.flush()
	<-dir.stuck
	bad := full(t, streamA, sdk.Epoch{}, 10, 20)
	bad.IDs = nil
	if _, err := ses.try(bad); err == nil {
		t.Fatal("a batch without ids was taken")
	}
	close(dir.release)
	<-ses.Writer.(*writer).done
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if len(ses.receipts) != 0 || ses.failed != nil {
		t.Errorf("%v, %v", ses.receipts, ses.failed)
	}
}
