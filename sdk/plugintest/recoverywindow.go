package plugintest

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// shortLease is a lease that a case waits to expire.
const shortLease = 400 * time.Millisecond

func window(s sdk.Stream, from, next int64) sdk.RecoveryWindow {
	return sdk.RecoveryWindow{Window: sdk.Window{Stream: s, From: from, Next: next}}
}

func (r *sinkRig) plan(lane string, ws ...sdk.RecoveryWindow) []sdk.RecoveryWindow {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.recovery().PlanWindows(ctx, lane, ws)
	must(err, "plan windows")
	return got
}

// windows reads a lane's windows.
func (r *sinkRig) windows(lane string) []sdk.RecoveryWindow {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.recovery().Windows(ctx, lane)
	must(err, "read windows")
	return got
}

// list is windows as text, without ids.
func list(ws []sdk.RecoveryWindow) (out string) {
	for _, w := range ws {
		out += fmt.Sprintf("%d[%d,%d)%s ", w.Stream.Partition, w.From, w.Next, w.State)
		if w.RetrySetAside {
			out += "retry "
		}
	}
	return out
}

func (r *sinkRig) wantWindows(want string) {
	if got := list(r.windows(laneClean)); got != want {
		failf("windows %s, want %s", got, want)
	}
}

func (r *sinkRig) claim(c sdk.WindowClaim) *sdk.RecoveryWindow {
	ctx, cancel := soon()
	defer cancel()
	c.Lane = cmp.Or(c.Lane, laneClean)
	got, err := r.recovery().ClaimWindow(ctx, c)
	must(err, "claim a window")
	return got
}

// claimed claims a window that must be free.
func (r *sinkRig) claimed(holder string, ttl time.Duration) sdk.RecoveryWindow {
	w := r.claim(sdk.WindowClaim{Holder: holder, TTL: ttl})
	if w == nil {
		failf("no window is free, want one")
	}
	if w.Lane != laneClean || w.Holder != holder || w.State != sdk.WindowClaimed || w.Fence == 0 || w.Lease > ttl {
		failf("a claim of %s for %v gave %+v", holder, ttl, *w)
	}
	return *w
}

// expired claims a window whose lease has expired: by the store's clock, or,
// where it has none, when it was seen unchanged for its whole time.
func (r *sinkRig) expired(w sdk.RecoveryWindow, holder string, ttl time.Duration) (out sdk.RecoveryWindow) {
	if w.Lease == sdk.NoClock {
		r.untilUnchanged(w, ttl)
		got := r.claim(sdk.WindowClaim{Holder: holder, TTL: time.Minute, ID: w.ID, LeaseVersion: w.LeaseVersion})
		if got == nil {
			failf("window %d was unchanged for its lease's time and is not free", w.ID)
		}
		return *got
	}
	ok := eventually(patience, func() bool {
		got := r.claim(sdk.WindowClaim{Holder: holder, TTL: time.Minute})
		if got != nil {
			out = *got
		}
		return got != nil
	})
	if !ok {
		failf("the lease of window %d was for %v and does not expire", w.ID, ttl)
	}
	return out
}

func (r *sinkRig) untilUnchanged(w sdk.RecoveryWindow, ttl time.Duration) {
	began := time.Now()
	eventually(patience, func() bool {
		for _, x := range r.windows(laneClean) {
			if x.ID == w.ID && x.LeaseVersion != w.LeaseVersion {
				failf("window %d has changed while nobody worked on it: %+v", w.ID, x)
			}
		}
		return time.Since(began) > ttl
	})
}

func (r *sinkRig) complete(c sdk.WindowCompletion) error {
	ctx, cancel := soon()
	defer cancel()
	return r.recovery().CompleteWindow(ctx, c)
}

// done records that a lane has positions and completes a window with them.
func (r *sinkRig) done(w sdk.RecoveryWindow, done ...coverage.Interval) {
	r.record(laneClean, sdk.CoverageRecord{Stream: w.Stream, Held: done})
	must(r.complete(sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Done: done}), "complete a window")
}

func sinkPlan(r *sinkRig) {
	r.start()
	retry := window(streamB, 0, 10)
	retry.RetrySetAside = true
	got := r.plan(laneClean, window(streamA, 10, 20), window(streamA, 15, 25), window(streamA, 20, 30), retry)
	if l := list(got); l != "0[10,20)open 0[20,30)open 1[0,10)open retry " {
		failf("planned %s, want all but the one that overlaps another", l)
	}
	ids := map[uint64]bool{0: true}
	for _, w := range got {
		if ids[w.ID] || w.Lane != laneClean {
			failf("planned %+v: an id that is another's, or another lane", w)
		}
		ids[w.ID] = true
	}
	if got := r.plan(laneClean, window(streamA, 0, 11), window(streamA, 12, 15), window(streamA, 29, 40)); len(got) != 0 {
		failf("planned %s over open windows", list(got))
	}
	if got := r.plan("other", window(streamA, 0, 40)); len(got) != 1 {
		failf("a window of another lane stands in the way")
	}
	lost := window(streamA, 5, 10)
	lost.State = sdk.WindowUnrecoverable
	if got := r.plan(laneClean, lost, window(streamA, 0, 6)); list(got) != "0[5,10)unrecoverable " {
		failf("planned %s", list(got))
	}
	want := "0[5,10)unrecoverable 0[10,20)open 0[20,30)open 1[0,10)open retry "
	r.wantWindows(want)
	r.restart()
	r.wantWindows(want)
	for _, w := range r.plan(laneClean, window(streamA, 100, 110)) {
		if ids[w.ID] {
			failf("id %d is used again", w.ID)
		}
	}
}

func sinkClaim(r *sinkRig) {
	r.start()
	planned := r.plan(laneClean, window(streamA, 50, 60), window(streamA, 0, 10))
	one := r.claimed("one", shortLease)
	two := r.claimed("two", time.Minute)
	if one.ID != planned[0].ID || two.ID != planned[1].ID {
		failf("claimed windows %d and %d, want the oldest first: %d and %d", one.ID, two.ID, planned[0].ID, planned[1].ID)
	}
	if w := r.claim(sdk.WindowClaim{Holder: "three", TTL: time.Minute, Lane: "other"}); w != nil {
		failf("claimed %+v of another lane", *w)
	}
	r.restart()
	for _, w := range r.windows(laneClean) {
		if w.State != sdk.WindowClaimed || w.Holder == "" {
			failf("after kill -9 window %d is %s by %q", w.ID, w.State, w.Holder)
		}
	}
	again := r.expired(one, "three", shortLease)
	if again.ID != one.ID || again.Fence <= one.Fence || again.LeaseVersion == one.LeaseVersion || again.Holder != "three" {
		failf("claimed again: %+v, after %+v", again, one)
	}
	if w := r.claim(sdk.WindowClaim{Holder: "four", TTL: time.Minute}); w != nil {
		failf("claimed %+v, which has a holder", *w)
	}
	if w := r.claim(sdk.WindowClaim{Holder: "four", TTL: time.Minute, ID: one.ID, LeaseVersion: one.LeaseVersion}); w != nil {
		failf("claimed %+v by a version of its lease that has passed", *w)
	}
}

func sinkClaimTogether(r *sinkRig) {
	r.start()
	var ws []sdk.RecoveryWindow
	for k := range int64(20) {
		ws = append(ws, window(streamA, 10*k, 10*k+10))
	}
	r.plan(laneClean, ws...)
	var mu sync.Mutex
	var wg sync.WaitGroup
	var ids []uint64
	var failed error
	for k := range 5 {
		wg.Go(func() {
			err := attempt(func() {
				for range 21 { // one more than there are windows
					w := r.claim(sdk.WindowClaim{Holder: fmt.Sprint(k), TTL: time.Minute})
					if w == nil {
						return
					}
					mu.Lock()
					ids = append(ids, w.ID)
					mu.Unlock()
				}
			})
			mu.Lock()
			defer mu.Unlock()
			failed = cmp.Or(failed, err)
		})
	}
	wg.Wait()
	must(failed, "claim together")
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != 20 || len(ids) != 20 {
		failf("%d claims of %d windows, want one of each of 20", len(ids), n)
	}
}

func sinkRenew(r *sinkRig) {
	r.start()
	r.plan(laneClean, window(streamA, 0, 10))
	renew := func(id, fence uint64) (uint64, error) {
		ctx, cancel := soon()
		defer cancel()
		return r.recovery().RenewWindow(ctx, id, fence, time.Minute)
	}
	one := r.claimed("one", shortLease)
	version, err := renew(one.ID, one.Fence)
	must(err, "renew a lease")
	if version == one.LeaseVersion {
		failf("a renewal left version %d", version)
	}
	if now := r.windows(laneClean)[0]; now.LeaseVersion != version || now.Lease != sdk.NoClock && now.Lease < shortLease {
		failf("after a renewal for a minute, with version %d: %+v", version, now)
	}
	for _, wrong := range []struct{ id, fence uint64 }{{one.ID, one.Fence + 1}, {one.ID, 0}, {one.ID + 77, one.Fence}} {
		if _, err := renew(wrong.id, wrong.fence); sdk.KindOf(err) != sdk.KindFenced {
			failf("renewal of window %d with fence %d: %v, want an error of kind fenced", wrong.id, wrong.fence, err)
		}
	}
	r.done(one, interval(0, 10))
	if _, err := renew(one.ID, one.Fence); sdk.KindOf(err) != sdk.KindFenced {
		failf("renewal of a window that is complete: %v, want an error of kind fenced", err)
	}
}

func sinkComplete(r *sinkRig) {
	r.start()
	r.plan(laneClean, window(streamA, 0, 100))
	one := r.claimed("one", shortLease)
	two := r.expired(one, "two", shortLease)
	fenced := func(c sdk.WindowCompletion, what string) {
		if err := r.complete(c); sdk.KindOf(err) != sdk.KindFenced {
			failf("%s: %v, want an error of kind fenced", what, err)
		}
	}
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(0, 60)}})
	part := []coverage.Interval{interval(0, 30), interval(40, 60)}
	fenced(sdk.WindowCompletion{ID: one.ID, Fence: one.Fence, Done: part}, "completion by the holder before")
	r.wantWindows("0[0,100)claimed ")
	must(r.complete(sdk.WindowCompletion{ID: two.ID, Fence: two.Fence, Done: part}), "complete a part")
	fenced(sdk.WindowCompletion{ID: two.ID, Fence: two.Fence, Done: part}, "a second completion")
	r.wantWindows("0[30,100)open ") // the hull of what is left
	r.restart()
	r.wantWindows("0[30,100)open ")
	three := r.claimed("three", time.Minute)
	if three.ID == two.ID && three.Fence <= two.Fence {
		failf("the claim of what was left has fence %d, after %d", three.Fence, two.Fence)
	}
	r.done(three, interval(0, 200))
	r.wantWindows("")
	if got := r.plan(laneClean, window(streamA, 0, 100)); len(got) != 1 || got[0].ID == one.ID || got[0].ID == three.ID {
		failf("planned again: %+v, want a window with a new id", got)
	}
}

func sinkUnrecoverable(r *sinkRig) {
	r.start()
	r.plan(laneClean, window(streamA, 0, 100))
	w := r.claimed("one", time.Minute)
	must(r.complete(sdk.WindowCompletion{ID: w.ID, Fence: w.Fence, Unrecoverable: []coverage.Interval{interval(0, 40)}}), "complete a window of which a part is lost")
	want := "0[0,40)unrecoverable 0[40,100)open "
	r.wantWindows(want)
	r.restart()
	r.wantWindows(want)
	if got := r.plan(laneClean, window(streamA, 10, 20)); len(got) != 0 {
		failf("planned %s, which is known to be lost", list(got))
	}
	r.done(r.claimed("two", time.Minute), interval(40, 100))
	if w := r.claim(sdk.WindowClaim{Holder: "three", TTL: time.Minute}); w != nil {
		failf("claimed %+v, which is lost", *w)
	}
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(0, 39)}})
	r.wantWindows("0[0,40)unrecoverable ")
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(39, 40)}})
	r.wantWindows("")
}
