package plugintest

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// recoveryCases are the clauses of sinks that others are rebuilt from, and of
// sinks that do not gate.
var recoveryCases = []testCase[*sinkRig]{
	{"no-epoch", "Spans without an epoch, of a stream that was never acquired, are written and answered: the sink is not the one that gates.", fencing, sinkNoEpoch},
	{"replay", "Replay gives back rows and ids as they were written, in position order, in bounded frames, and says what it has read: what is held, never more.", replayable, sinkReplay},
	{"replay-held", "What is held and has no rows belongs to what is read; a hole and a stream that is not known do not.", replayable, sinkReplayHeld},
	{"streams", "Streams lists every stream that has an epoch, or coverage in any lane.", recoveryStore, sinkStreams},
	{"lane-coverage", "A lane's coverage is a union, apart from that of other lanes, needs no epoch, and survives kill -9; held wins over set aside; an epoch that is given is checked.", recoveryStore, sinkLaneCoverage},
	{"live-floor", "A live floor is the lane's and only rises; it survives kill -9.", recoveryStore, sinkLiveFloor},
	{"plan", "PlanWindows leaves out what overlaps a window of its lane and stream; windows survive kill -9, by stream and position, with ids that are never used again.", recoveryStore, sinkPlan},
	{"claim", "A window has one holder at a time, the oldest goes first, and each claim has a new fence and version; a lease survives kill -9, and when it has expired the window is claimed again.", recoveryStore, sinkClaim},
	{"claim-together", "Of claims that are made together each gets another window.", recoveryStore, sinkClaimTogether},
	{"renew", "A renewal has a new version; under a fence that is not the window's it is fenced.", recoveryStore, sinkRenew},
	{"complete", "A completion takes what is done off the window, the rest is open again; under a fence that is not the window's, or twice, it is fenced and changes nothing.", recoveryStore, sinkComplete},
	{"unrecoverable", "What cannot be recovered stays, is not claimed and not planned again, until the lane's coverage has all of it.", recoveryStore, sinkUnrecoverable},
	{"prune", "Prune deletes from the beginning, never above raw's first hole, and turns what was held into a void; the first hole stays, and what comes again does not come back. A dry run changes nothing.", recoveryStore, sinkPrune},
}

func replayable(c sdk.Capabilities) bool    { return c.Replayable }
func recoveryStore(c sdk.Capabilities) bool { return c.OffsetStore && c.Replayable }

// laneClean is the lane that the cases use.
const laneClean = "clean"

func (r *sinkRig) recovery() sdk.RecoveryStore {
	store, ok := r.sink.(sdk.RecoveryStore)
	if !ok {
		failf("the sink declares offset_store and replayable, and is no recovery store")
	}
	return store
}

func interval(from, next int64) coverage.Interval { return coverage.Interval{From: from, Next: next} }

// record records one stream's coverage in a lane without an epoch.
func (r *sinkRig) record(lane string, c sdk.CoverageRecord) {
	ctx, cancel := soon()
	defer cancel()
	must(r.recovery().Record(ctx, lane, []sdk.CoverageRecord{c}), "record coverage of lane "+lane)
}

// laneOf reads a stream's coverage in a lane, as text.
func (r *sinkRig) laneOf(lane string, s sdk.Stream) string {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.recovery().Coverage(ctx, lane, []sdk.Stream{s})
	must(err, "read coverage of lane "+lane)
	if len(got) != 1 || got[0].Stream != s || got[0].Set == nil {
		failf("coverage of one stream in lane %s: %+v", lane, got)
	}
	var aside coverage.Set
	for _, i := range got[0].SetAside {
		aside.AddHeld(i)
	}
	return fmt.Sprintf("held %v void %v aside %v", got[0].Set.Held(), got[0].Set.Voids(), aside.Held())
}

func (r *sinkRig) wantLane(lane string, s sdk.Stream, want string) {
	if got := r.laneOf(lane, s); got != want {
		failf("lane %s of %s: %s, want %s", lane, s, got, want)
	}
}

func sinkStreams(r *sinkRig) {
	r.start()
	r.acquire("one", streamA)
	r.record(laneClean, sdk.CoverageRecord{Stream: streamB, Held: []coverage.Interval{interval(0, 1)}})
	check := func() {
		ctx, cancel := soon()
		defer cancel()
		got, err := r.recovery().Streams(ctx)
		must(err, "list streams")
		if len(got) != 2 || !slices.Contains(got, streamA) || !slices.Contains(got, streamB) {
			failf("streams %v, want the one that was acquired and the one that has coverage", got)
		}
	}
	check()
	r.restart()
	check()
}

func sinkLaneCoverage(r *sinkRig) {
	r.start()
	stale := r.epoch(streamA)
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(0, 10), interval(20, 30)}, SetAside: []coverage.Interval{interval(10, 12), interval(14, 16)}})
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Epoch: stale, Held: []coverage.Interval{interval(8, 15)}, SetAside: []coverage.Interval{interval(0, 3), interval(16, 18)}})
	r.record(laneClean, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(2, 3)},
		Void: []coverage.Void{{Interval: interval(40, 50), Reason: coverage.Retention}}})
	r.record("other", sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{interval(70, 80)}})
	check := func() {
		r.wantLane(laneClean, streamA, "held [{0 15} {20 30}] void [{{40 50} retention}] aside [{15 18}]")
		r.wantLane("other", streamA, "held [{70 80}] void [] aside []")
		r.wantLane(sdk.LaneRaw, streamA, "held [] void [] aside []")
		r.wantLane(laneClean, streamB, "held [] void [] aside []")
	}
	check()
	r.restart()
	check()
	if !r.caps.Fencing {
		return
	}
	r.acquire("another", streamA)
	ctx, cancel := soon()
	defer cancel()
	err := r.recovery().Record(ctx, laneClean, []sdk.CoverageRecord{{Stream: streamA, Epoch: stale, Held: []coverage.Interval{interval(90, 91)}}})
	if sdk.KindOf(err) != sdk.KindFenced {
		failf("record of lane %s under a stale epoch: %v, want an error of kind fenced", laneClean, err)
	}
	check()
}

func sinkLiveFloor(r *sinkRig) {
	r.start()
	raise := func(to int64) { r.record(laneClean, sdk.CoverageRecord{Stream: streamA, LiveFloor: to}) }
	want := func(at int64) {
		r.wantFloor(laneClean, streamA, sdk.Floors{Live: at})
		r.wantFloor("other", streamA, sdk.Floors{})
		r.wantFloor(laneClean, streamB, sdk.Floors{})
	}
	want(0)
	raise(20)
	want(20)
	raise(10)
	want(20)
	raise(30)
	r.restart()
	want(30)
}

func (r *sinkRig) wantFloor(lane string, s sdk.Stream, want sdk.Floors) {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.recovery().Floors(ctx, lane, []sdk.Stream{streamUnknown, s})
	must(err, "read floors of lane "+lane)
	want.Stream = s
	if len(got) != 2 || got[0] != (sdk.Floors{Stream: streamUnknown}) || got[1] != want {
		failf("floors in lane %s: %+v, want %+v behind those of a stream that is not known", lane, got, want)
	}
}
