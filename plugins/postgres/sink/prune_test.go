//go:build services

package sink

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

func (r *rig) prune(s *Sink, dry bool, p sdk.Prune) string {
	r.t.Helper()
	p.Stream = streamA
	got, err := s.Prune(r.t.Context(), []sdk.Prune{p}, dry)
	r.fatal(err)
	return fmt.Sprintf("floor %d rows %d", got[0].RawFloor, got[0].Rows)
}

func (r *rig) rawOf(s *Sink) string {
	r.t.Helper()
	got, err := s.Coverage(r.t.Context(), sdk.LaneRaw, []sdk.Stream{streamA})
	r.fatal(err)
	return fmt.Sprint(got[0].Set.Held(), got[0].Set.Voids(), got[0].Set.FirstHole())
}

func TestPruneByPositionAndTime(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	es := r.acquire(s, "one", streamA, streamB)
	ses := r.open(s)
	r.fatal(s.Record(t.Context(), sdk.LaneRaw, []sdk.CoverageRecord{{Stream: streamA, Epoch: es[0], Void: []coverage.Void{{Interval: within(0, 10), Reason: coverage.BeforeStart}}}}))
	recs := plain(10, 60) // the position is the time, too
	recs[20].TimestampMS = -1
	recs[30].TimestampMS = 1
	ses.deliver(batchOf(t, piece{streamA, es[0], 10, 65, recs}, piece{stream: streamB, epoch: es[1], next: 60}), batchOf(t, piece{stream: streamA, epoch: es[0], from: 80, next: 90}))
	for _, c := range []struct {
		dry  bool
		p    sdk.Prune
		want string
		rows int64
	}{
		{true, sdk.Prune{Below: 1000}, "floor 65 rows 50", 120},
		{true, sdk.Prune{Below: 1000, OlderThan: time.UnixMilli(15)}, "floor 15 rows 5", 120},
		{false, sdk.Prune{Below: 5}, "floor 5 rows 0", 120},
		{false, sdk.Prune{Below: 1000, OlderThan: time.UnixMilli(15)}, "floor 15 rows 5", 115},
		{false, sdk.Prune{Below: 18, OlderThan: time.UnixMilli(30)}, "floor 18 rows 3", 112},
		{false, sdk.Prune{Below: 10}, "floor 18 rows 0", 112},
		{false, sdk.Prune{Below: 1000, OlderThan: time.UnixMilli(50)}, "floor 30 rows 12", 100}, // no time at 30
		{false, sdk.Prune{Below: 31}, "floor 31 rows 1", 99},
		{false, sdk.Prune{Below: 1000, OlderThan: time.UnixMilli(50)}, "floor 50 rows 19", 80},
		{false, sdk.Prune{Below: 1000}, "floor 65 rows 10", 70}, // up to the hole
	} {
		if got := r.prune(s, c.dry, c.p); got != c.want || r.rows() != c.rows {
			t.Fatalf("%+v: %s, %d rows are left, want %s, %d", c.p, got, r.rows(), c.want, c.rows)
		}
	}
	if got := r.rawOf(s); got != "[{80 90}] [{{0 10} before_start} {{10 65} pruned}] 65" {
		t.Error(got)
	}
	got, err := s.Prune(t.Context(), []sdk.Prune{{Stream: sdk.Stream{Topic: "unknown"}, Below: 100}}, false)
	if err != nil || got[0] != (sdk.Pruned{Stream: sdk.Stream{Topic: "unknown"}}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// What was pruned and comes again is answered and does not come back; a new
// owner goes on where the first hole is; what is left out as held is no loss.
func TestAfterAPruneTheStreamGoesOn(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 100))
	if got := r.prune(s, false, sdk.Prune{Below: 60}); got != "floor 60 rows 60" {
		t.Fatal(got)
	}
	ses.deliver(span(t, e, 0, 10), span(t, e, 100, 110))
	s = r.sink()
	e = r.acquire(s, "two", streamA)[0]
	ses = r.open(s)
	b := span(t, e, 50, 120)
	b.Rows = []sdk.RowRange{{From: 60, To: 70}} // what it is known to lack
	ses.deliver(span(t, e, 20, 70), b)
	if got := r.rawOf(s); got != "[{60 120}] [{{0 60} pruned}] 120" || r.rows() != 60 {
		t.Errorf("%s, %d rows", got, r.rows())
	}
	// Everything is pruned, and the empty table is rewritten: still the same one.
	if got := r.prune(s, false, sdk.Prune{Below: 1000}); got != "floor 120 rows 60" {
		t.Fatal(got)
	}
	r.exec("vacuum full raw")
	s = r.sink()
	ses = r.open(s)
	ses.deliver(span(t, e, 120, 130))
	if got := r.rawOf(s); got != "[{120 130}] [{{0 120} pruned}] 130" {
		t.Error(got)
	}
}

// A prune of several transactions beside a writer of the same stream: the
// writer is not disturbed, and nothing that it writes is lost.
func TestPruneBesideAWriter(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	const n = 120_000
	ses.fill(streamA, e, n, 10)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	at := int64(n)
	wg.Go(func() {
		for ; ctx.Err() == nil; at += 100 {
			ses.deliver(span(t, e, at, at+100))
		}
	})
	pruned := make([]sdk.Pruned, 2)
	var pruners sync.WaitGroup
	for k := range pruned { // two at once share the rows
		pruners.Go(func() {
			got, err := r.sink().Prune(t.Context(), []sdk.Prune{{Stream: streamA, Below: n - 7}}, false)
			if err != nil || got[0].RawFloor != n-7 {
				t.Errorf("%+v, %v", got, err)
				return
			}
			pruned[k] = got[0]
		})
	}
	pruners.Wait()
	stop()
	wg.Wait()
	if sum := pruned[0].Rows + pruned[1].Rows; sum != n-7 {
		t.Errorf("%d rows were pruned, want %d", sum, n-7)
	}
	want := fmt.Sprintf("[{%d %d}] [{{0 %d} pruned}] %d", n-7, at, n-7, at)
	if got := r.rawOf(s); got != want || r.rows() != at-n+7 || at == n {
		t.Errorf("%s, %d rows, want %s", got, r.rows(), want)
	}
	if got := r.replay(s, streamA, 0, at); int64(len(got.recs)) != at-n+7 {
		t.Errorf("%d records in %s", len(got.recs), got.read)
	}
}

// At no moment are rows gone that are said to be held, or the other way round.
func TestAPruneRaisesTheFloorWithTheRows(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	const n = 120_000
	r.open(s).fill(streamA, e, n, 10)
	conn := r.connect()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Prune(t.Context(), []sdk.Prune{{Stream: streamA, Below: n}}, false)
		ended <- err
	}()
	for seen, over := int64(0), false; !over; seen++ {
		select {
		case err := <-ended:
			over = true
			r.fatal(err)
		default:
		}
		var rows, floor int64
		r.fatal(conn.QueryRow(t.Context(), "select (select count(*) from raw), (select max(raw_floor) from _twg.streams)").Scan(&rows, &floor))
		if rows != n-floor {
			t.Fatalf("look %d: floor %d and %d rows are left of %d", seen, floor, rows, n)
		}
	}
}

// The server dies in the middle of a prune: what is void is gone, what is held
// is there, and the prune goes on.
func TestServerKilledInMidPrune(t *testing.T) {
	server := ownServer(t)
	r := newRig(t, server)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	const n = 120_000
	r.open(s).fill(streamA, e, n, 10)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Prune(t.Context(), []sdk.Prune{{Stream: streamA, Below: n}}, false)
		ended <- err
	}()
	eventually(t, "a part is pruned", func() bool { return r.number("select max(raw_floor) from _twg.streams") > 0 })
	server.Kill()
	if err := <-ended; err == nil {
		t.Log("it was done before the server was killed")
	} else if sdk.KindOf(err) != sdk.KindRetryable {
		t.Error(err)
	}
	r.fatal(server.Start(t.Context()))
	floor := r.number("select max(raw_floor) from _twg.streams")
	if rows := r.rows(); rows != n-floor {
		t.Errorf("floor %d and %d rows are left", floor, rows)
	}
	if got := r.prune(s, false, sdk.Prune{Below: n}); got != fmt.Sprintf("floor %d rows %d", n, n-floor) {
		t.Error(got)
	}
}

// markers are positions without rows.
func markers(t testing.TB, e sdk.Epoch, from, next int64) *sdk.Batch {
	return batchOf(t, piece{stream: streamA, epoch: e, from: from, next: next, recs: []frame.Record{}})
}

// Positions without rows are pruned like others.
func TestPruneOfPositionsWithoutRows(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	r.open(s).deliver(markers(t, e, 0, 50), span(t, e, 50, 60), markers(t, e, 60, 70))
	r.fatal(s.Record(t.Context(), sdk.LaneRaw, []sdk.CoverageRecord{{Stream: streamB, Epoch: r.acquire(s, "one", streamB)[0], Void: []coverage.Void{{Interval: within(0, 10), Reason: coverage.Seek}}}}))
	for _, c := range []struct {
		below int64
		want  string
	}{{20, "floor 20 rows 0"}, {65, "floor 65 rows 10"}, {100, "floor 70 rows 0"}} {
		if got := r.prune(s, false, sdk.Prune{Below: c.below}); got != c.want {
			t.Errorf("below %d: %s, want %s", c.below, got, c.want)
		}
	} // A void below the floor that is delivered after all is not written.
	got, err := s.Prune(t.Context(), []sdk.Prune{{Stream: streamB, Below: 10}}, false)
	if err != nil || got[0].RawFloor != 10 {
		t.Fatal(got, err)
	}
	e = r.acquire(s, "two", streamB)[0]
	r.open(s).deliver(batchOf(t, piece{stream: streamB, epoch: e, next: 15}))
	if r.rows() != 5 || r.held(s, streamB) != held(10, 15) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamB))
	}
}
