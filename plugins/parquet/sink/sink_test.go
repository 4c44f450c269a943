package sink

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

func TestRowsAreThereAfterFlush(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	a, b := ses.write(full(t, streamA, e, 0, 10)), ses.write(full(t, streamA, e, 10, 30))
	ses.flush()
	if ses.outcome(a) != sdk.Durable || ses.outcome(b) != sdk.Durable {
		t.Fatalf("receipts %+v", ses.receipts)
	}
	m.PowerCut(func(string) bool { return false })
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 30)) {
		t.Errorf("positions %v", got)
	}
}

// Cases 9 and 10, and timestamps that no calendar has.
func TestRowsAreLossless(t *testing.T) {
	recs := []frame.Record{
		{Position: 0, TimestampMS: -1},
		{Position: 1, TimestampMS: math.MaxInt64, Key: []byte{}, Value: []byte{}},
		{Position: 2, TimestampMS: math.MinInt64, Key: []byte("k"), Value: []byte{0, 255}},
		{Position: 5, Headers: []frame.Header{{Name: "h", Value: nil}, {Name: "h", Value: []byte{}}, {Name: "", Value: []byte{0xff}}, {Name: "\xff", Value: []byte("v")}}},
		{Position: 6, Headers: []frame.Header{{Name: "one", Value: []byte("1")}}},
	}
	for _, compression := range rawfile.Compressions {
		m := disk.NewMem()
		s := newSink(t, m, `,"compression":"`+compression+`"`)
		ses := openSession(t, s, sdk.GranularityBatch)
		seq := ses.write(batchOf(t, streamA, sdk.Epoch{}, 0, 7, recs...))
		if err := ses.Close(context.Background()); err != nil || ses.outcome(seq) != sdk.Durable {
			t.Fatal(err, ses.receipts)
		}
		for i, got := range rows(t, m.Dir()) {
			want := recs[i]
			if got.Topic != "orders" || got.Incarnation != "i1" || got.Cluster != "c" || got.Partition != 3 || got.ID[1] != 3 || got.ID[7] != byte(want.Position) {
				t.Errorf("row %d: %+v", i, got)
			}
			if got.TimestampMS != want.TimestampMS || !same(got.Key, want.Key) || !same(got.Value, want.Value) || len(got.Headers) != len(want.Headers) {
				t.Errorf("row %d: %+v, want %+v", i, got, want)
				continue
			}
			for k, h := range got.Headers {
				if string(h.Name) != want.Headers[k].Name || !same(h.Value, want.Headers[k].Value) {
					t.Errorf("row %d header %d: %+v, want %+v", i, k, h, want.Headers[k])
				}
			}
		}
	}
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && string(a) == string(b) }

func TestRedeliveryAddsNoRow(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, e, 0, 10))
	ses.write(full(t, streamA, e, 5, 15)) // half of it waits in the open file
	ses.flush()
	ses.write(full(t, streamA, e, 0, 15)) // all of it is held or on its way
	ses.write(full(t, streamA, e, 12, 20))
	ses.flush()
	if got := ses.outcome(ses.seq); got != sdk.Durable {
		t.Fatalf("outcome %v", got)
	}
	ses = openSession(t, newSink(t, m, ""), sdk.GranularityBatch)
	seq := ses.write(full(t, streamA, e, 3, 18))
	ses.flush()
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatalf("redelivery: %v", got)
	}
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 20)) {
		t.Errorf("positions %v", got)
	}
}

// A Flush that overtakes batches holds for them all: none may wait for a
// limit of the file, or for a second Flush that never comes.
func TestFlushOvertakesBatches(t *testing.T) {
	m := disk.NewMem()
	ses := openSession(t, newSink(t, m, ""), sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	if err := ses.Writer.(sdk.Flusher).Flush(context.Background(), 3); err != nil {
		t.Fatal(err)
	}
	ses.write(full(t, streamA, sdk.Epoch{}, 10, 20))
	last := ses.write(full(t, streamA, sdk.Epoch{}, 20, 30))
	for seq := uint64(1); seq <= last; seq++ {
		if got := ses.outcome(seq); got != sdk.Durable {
			t.Fatalf("batch %d: %v", seq, got)
		}
	}
	ses.write(full(t, streamA, sdk.Epoch{}, 30, 40)) // is not part of it
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if len(ses.receipts) != 3 {
		t.Errorf("%d receipts for a Flush up to 3", len(ses.receipts))
	}
}

// A batch that a Flush has overtaken and that does not come holds up the
// others for a moment only.
func TestFlushDoesNotWaitForLong(t *testing.T) {
	ses := openSession(t, newSink(t, disk.NewMem(), ""), sdk.GranularityBatch)
	seq := ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	if err := ses.Writer.(sdk.Flusher).Flush(context.Background(), 9); err != nil {
		t.Fatal(err)
	}
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatal(got)
	}
}

// Batches that a Flush has overtaken and that keep coming become one file,
// however long they take; one that stays away ends it.
func TestOvertakenBatchesBecomeOneFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ses := openSession(t, newSink(t, disk.NewMem(), ""), sdk.GranularityBatch)
		if err := ses.Writer.(sdk.Flusher).Flush(context.Background(), 21); err != nil {
			t.Fatal(err)
		}
		for i := range int64(20) {
			ses.write(full(t, streamA, sdk.Epoch{}, i*10, i*10+10))
			time.Sleep(flushGrace / 2) // of virtual time
			ses.mu.Lock()
			if n := len(ses.receipts); n > 0 {
				t.Errorf("%d answers after batch %d", n, i+1)
			}
			ses.mu.Unlock()
		}
		time.Sleep(flushGrace)
		synctest.Wait()
		ses.mu.Lock()
		if n := len(ses.receipts); n != 20 {
			t.Errorf("%d answers of 20 once no more comes", n)
		}
		ses.mu.Unlock()
		ses.Writer.(*writer).abort()
	})
}

func TestGapsBelongToSpans(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(batchOf(t, streamA, sdk.Epoch{}, 0, 10, rec(2), rec(7)))
	ses.write(batchOf(t, streamA, sdk.Epoch{}, 10, 20)) // markers only
	ses.flush()
	ses.outcome(ses.seq)
	cov, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})
	if err != nil || cov[0].Set.FirstHole() != 20 {
		t.Fatalf("%+v, %v", cov, err)
	}
}

func TestFencedRollsTheFileBack(t *testing.T) {
	m := disk.NewMem()
	s, other := newSink(t, m, ""), newSink(t, m, "")
	a, b := acquire(t, s, "host", streamA), acquire(t, s, "host", streamB)
	ses := openSession(t, s, sdk.GranularityBatch)
	one, two := ses.write(full(t, streamA, a, 0, 10)), ses.write(full(t, streamB, b, 0, 10))
	acquire(t, other, "host 2", streamA)
	ses.flush()
	if x, y := ses.outcome(one), ses.outcome(two); x != sdk.Fenced || y != sdk.Retryable {
		t.Fatalf("outcomes %v, %v", x, y)
	}
	if got := rows(t, m.Dir()); len(got) != 0 {
		t.Fatalf("rows of a rolled back file: %v", got)
	}
	again := ses.write(full(t, streamB, b, 0, 10))
	ses.flush()
	if got := ses.outcome(again); got != sdk.Durable {
		t.Errorf("the other stream came again: %v", got)
	}
}

func TestRowsThatTheHostLeavesOut(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, e, 0, 4))
	b := full(t, streamA, e, 0, 10)
	b.Rows = []sdk.RowRange{{From: 4, To: 10}}
	seq := ses.write(b)
	ses.flush()
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatal(got)
	}
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 10)) {
		t.Errorf("positions %v", got)
	}
	b = full(t, streamA, e, 10, 20)
	b.Rows = []sdk.RowRange{{From: 1, To: 10}}
	if _, err := ses.try(b); err == nil {
		t.Error("a position was claimed without its row")
	}
}

func TestLimitsSealFiles(t *testing.T) {
	for name, set := range map[string]string{
		"rows":  `,"max_file_rows":10`,
		"bytes": `,"max_file_bytes":"1KiB"`,
		"age":   `,"max_file_age":"20ms"`,
	} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			ses := openSession(t, newSink(t, m, set), sdk.GranularityBatch)
			for p := int64(0); p < 100; p += 20 {
				ses.write(full(t, streamA, sdk.Epoch{}, p, p+20))
			}
			if got := ses.outcome(ses.seq); got != sdk.Durable {
				t.Fatal(got)
			}
			if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 100)) {
				t.Errorf("positions %v", got)
			}
		})
	}
}

func TestRecordGranularityAnswersEachBatch(t *testing.T) {
	m := disk.NewMem()
	ses := openSession(t, newSink(t, m, ""), sdk.GranularityRecord)
	for p := range int64(3) {
		if got := ses.outcome(ses.write(full(t, streamA, sdk.Epoch{}, p, p+1))); got != sdk.Durable {
			t.Fatal(got)
		}
	}
}

func TestCloseCommitsAndAbortDoesNot(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	seq := ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	if err := ses.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatal(got)
	}
	ses = openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 10, 20))
	next := openSession(t, s, sdk.GranularityBatch) // the old one is aborted
	if len(ses.receipts) != 0 {
		t.Error("an aborted session reported")
	}
	next.write(full(t, streamA, sdk.Epoch{}, 10, 15))
	if err := next.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 15)) {
		t.Errorf("positions %v", got)
	}
	if names, _ := m.Dir().List(); len(names) != 2 {
		t.Errorf("entries %v", names)
	}
}

func TestCursorsFollowTheFrontier(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	send := func(from, next int64) {
		b := full(t, streamA, sdk.Epoch{}, from, next)
		b.Cursors = []sdk.Cursor{{Stream: streamA, Position: next, Token: []byte{byte(next)}}}
		ses.write(b)
		ses.flush()
		ses.outcome(ses.seq)
	}
	want := func(position int64) {
		t.Helper()
		for _, s := range []*Sink{s, newSink(t, m, "")} {
			got, err := s.Cursors(context.Background(), []sdk.Stream{streamA, streamB})
			if err != nil || len(got) != 1 || got[0].Position != position || !reflect.DeepEqual(got[0].Token, []byte{byte(position)}) {
				t.Fatalf("cursors %+v, %v; want %d", got, err, position)
			}
		}
	}
	send(0, 10)
	want(10)
	send(20, 30) // the one before it was lost
	want(10)
	send(10, 20)
	want(30)
}

func TestLanesWithoutANameAreRefused(t *testing.T) {
	s := newSink(t, disk.NewMem(), "")
	for _, lane := range []string{"", "\xff"} {
		if err := s.Record(context.Background(), lane, nil); sdk.KindOf(err) != sdk.KindRejected {
			t.Errorf("lane %q: %v", lane, err)
		}
	}
}

func TestNamesThatParquetCannotHold(t *testing.T) {
	s := newSink(t, disk.NewMem(), "")
	bad := sdk.Stream{Topic: "\xff"}
	if _, err := s.Acquire(context.Background(), "host", []sdk.Stream{bad}); sdk.KindOf(err) != sdk.KindFatal {
		t.Error(err)
	}
	ses := openSession(t, s, sdk.GranularityBatch)
	if _, err := ses.try(full(t, bad, sdk.Epoch{}, 0, 1)); sdk.KindOf(err) != sdk.KindFatal {
		t.Error(err)
	}
}
