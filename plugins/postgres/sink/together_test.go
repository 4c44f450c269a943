//go:build services

package sink

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// hosts calls f in n processes' place at once.
func (r *rig) hosts(n int, f func(k int, s *Sink) error) {
	r.t.Helper()
	var wg sync.WaitGroup
	for k := range n {
		s := r.sink()
		wg.Go(func() {
			if err := f(k, s); err != nil {
				r.t.Errorf("host %d: %v", k, err)
			}
		})
	}
	wg.Wait()
}

// Hosts that record the same lane at once: all of it is there, joined.
func TestRecordersAtOnce(t *testing.T) {
	r := newRig(t, shared)
	const n, each = 4, 25
	r.hosts(n, func(k int, s *Sink) error {
		for i := range int64(each) {
			at := 10 * (i*n + int64(k))
			recs := []sdk.CoverageRecord{{Stream: streamA, Held: []coverage.Interval{within(at, at+10)}, LiveFloor: at}, {Stream: streamB, SetAside: []coverage.Interval{within(at, at+5)}, Held: []coverage.Interval{within(at+5, at+10)}}}
			if k%2 == 1 {
				recs[0], recs[1] = recs[1], recs[0]
			}
			if err := s.Record(t.Context(), lake, recs); err != nil {
				return err
			}
		}
		return nil
	})
	s := r.sink()
	if got := fmt.Sprint(r.ofLake(s).Set.Held()); got != fmt.Sprintf("[{0 %d}]", 10*n*each) {
		t.Error(got)
	}
	if got := r.number("select count(*) from _twg.coverage where stream = (select id from _twg.streams where partition = 0)"); got != 1 {
		t.Errorf("%d rows of coverage, want 1", got)
	}
	floors, err := s.Floors(t.Context(), lake, []sdk.Stream{streamA})
	if err != nil || floors[0].Live != 10*(n*each-1) {
		t.Errorf("%+v, %v", floors, err)
	}
}

// Planners that plan the same holes at once, cut differently: no position is in
// two windows.
func TestPlannersAtOnce(t *testing.T) {
	r := newRig(t, shared)
	r.hosts(4, func(k int, s *Sink) error {
		for round := range int64(10) {
			var ws []sdk.RecoveryWindow
			for i := range int64(20) {
				size := int64(k) + 3
				at := round*50 + i*size
				ws = append(ws, window(at, at+size))
			}
			if _, err := s.PlanWindows(t.Context(), lake, ws); err != nil {
				return err
			}
		}
		return nil
	})
	if n := r.number("select count(*) from _twg.windows a join _twg.windows b on a.id < b.id and a.stream = b.stream and a.from_position < b.next_position and b.from_position < a.next_position"); n != 0 {
		t.Errorf("%d pairs of windows overlap", n)
	}
	if n := r.number("select count(*) from _twg.windows"); n < 20 {
		t.Errorf("only %d windows", n)
	}
}

// Hosts that claim and complete at once: each window is worked on once, none is
// left, and none waits for another.
func TestClaimantsAtOnce(t *testing.T) {
	r := newRig(t, shared)
	const n = 100
	var ws []sdk.RecoveryWindow
	for i := range int64(n) {
		ws = append(ws, window(10*i, 10*i+10))
	}
	r.plan(r.sink(), ws...)
	var mu sync.Mutex
	worked := map[uint64]int{}
	r.hosts(4, func(k int, s *Sink) error {
		for {
			w, err := s.ClaimWindow(t.Context(), sdk.WindowClaim{Lane: lake, Holder: fmt.Sprint(k), TTL: time.Minute})
			if err != nil || w == nil {
				return err
			}
			mu.Lock()
			worked[w.ID]++
			mu.Unlock()
			done := []coverage.Interval{within(w.From, w.Next)}
			if err := s.Record(t.Context(), lake, []sdk.CoverageRecord{{Stream: streamA, Held: done}}); err != nil {
				return err
			}
			if err := s.CompleteWindow(t.Context(), sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: done}); err != nil {
				return err
			}
		}
	})
	for id, times := range worked {
		if times != 1 {
			t.Errorf("window %d was worked on %d times", id, times)
		}
	}
	if len(worked) != n || r.number("select count(*) from _twg.windows") != 0 {
		t.Errorf("%d windows were worked on, and %s are left", len(worked), r.windows(r.sink()))
	}
}

// A claim takes the next window while another is just being taken.
func TestAClaimDoesNotWaitForAnother(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	r.plan(s, window(0, 10), window(10, 20))
	tx, err := r.connect().Begin(t.Context())
	r.fatal(err)
	_, err = tx.Exec(t.Context(), "select from _twg.windows where id = 1 for update") // another is at it
	r.fatal(err)
	if w := r.claim(s, "one"); w == nil || w.ID != 2 {
		t.Errorf("claimed %+v", w)
	}
	if w := r.claim(s, "one"); w != nil {
		t.Errorf("claimed %+v", w)
	}
	r.fatal(tx.Rollback(t.Context()))
	if w := r.claim(s, "one"); w == nil || w.ID != 1 {
		t.Errorf("claimed %+v", w)
	}
}

// A completion that would forget what raw holds and the lane lacks is refused.
func TestACompletionNeedsCoverage(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	r.open(s).deliver(span(t, e, 0, 10), span(t, e, 20, 30))
	r.plan(s, window(0, 30))
	w := r.claim(s, "one")
	done := sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: []coverage.Interval{within(0, 30)}}
	record := func(c sdk.CoverageRecord) {
		c.Stream = streamA
		r.fatal(s.Record(t.Context(), lake, []sdk.CoverageRecord{c}))
	}
	record(sdk.CoverageRecord{Held: []coverage.Interval{within(0, 10), within(20, 25)}})
	if err := s.CompleteWindow(t.Context(), done); sdk.KindOf(err) != sdk.KindRejected {
		t.Errorf("%v, want it refused", err)
	}
	if got := r.windows(s); got != "1:[0,30)claimed " {
		t.Error(got)
	}
	record(sdk.CoverageRecord{SetAside: []coverage.Interval{within(25, 30)}})
	r.fatal(s.CompleteWindow(t.Context(), done)) // [10,20) is not in raw either
	if got := r.windows(s); got != "" {
		t.Error(got)
	}
}

// Planning 10,000 windows of 1,000 streams is one call.
func TestPlanOfTenThousandWindows(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	ws := manyWindows()
	began := time.Now()
	got, err := s.PlanWindows(t.Context(), lake, ws)
	r.fatal(err)
	first := time.Since(began)
	again, err := s.PlanWindows(t.Context(), lake, ws)
	r.fatal(err)
	listed, err := s.Windows(t.Context(), lake)
	r.fatal(err)
	if len(got) != len(ws) || len(again) != 0 || len(listed) != len(ws) {
		t.Errorf("%d windows, then %d, and %d are there", len(got), len(again), len(listed))
	}
	t.Logf("%v for the first, %v with the second and the list", first, time.Since(began))
	if first > 20*time.Second { // it takes a tenth of a second on a machine that is free
		t.Errorf("it took %v", first)
	}
}

func manyWindows() (ws []sdk.RecoveryWindow) {
	for k := range int64(10) {
		for p := range int32(1000) {
			ws = append(ws, sdk.RecoveryWindow{Window: sdk.Window{Stream: sdk.Stream{Cluster: "c1", Topic: "orders", Partition: p}, From: 100 * k, Next: 100*k + 50}})
		}
	}
	return ws
}
