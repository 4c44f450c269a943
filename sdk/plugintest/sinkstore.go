package plugintest

import (
	"bytes"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func sinkEpochs(r *sinkRig) {
	r.start()
	one := r.acquire("first", streamA, streamB)
	two := r.acquire("second", streamA)[0]
	r.restart()
	three := r.acquire("third", streamA)[0]
	for _, c := range []struct {
		got    sdk.Acquired
		before sdk.Acquired
		owner  string
	}{{two, one[0], "first"}, {three, two, "second"}} {
		switch {
		case c.got.Epoch.Number != c.before.Epoch.Number+1:
			failf("epoch %d follows epoch %d", c.got.Epoch.Number, c.before.Epoch.Number)
		case c.got.Epoch.Token == c.before.Epoch.Token:
			failf("two epochs have one token: a store that was restored could not tell them apart")
		case c.got.Previous != c.owner:
			failf("the owner before is %q, want %q", c.got.Previous, c.owner)
		}
	}
}

func sinkFenced(r *sinkRig) {
	s := r.open()
	kept := r.both(0, 10)
	s.deliver(kept)
	stale := r.both(10, 20) // of both epochs
	seq := s.send(stale)
	r.epochs[streamA] = r.acquire("another", streamA)[0].Epoch
	late := s.send(r.batchUnder(stale.Spans[0].Epoch, streamA, 20, 30))
	s.flush(s.seq)
	for _, o := range s.outcomes(seq) {
		want := sdk.Retryable
		if o.Stream == streamA {
			want = sdk.Fenced
		}
		// What was durable before the epoch was issued stays so.
		if o.Kind != want && r.caps.HoldsUntilClose {
			failf("[%d,%d) of %s is %s (%s), want %s", o.From, o.Next, o.Stream, o.Kind, o.Reason, want)
		}
	}
	if o := s.outcomes(late)[0]; o.Kind != sdk.Fenced {
		failf("a span under a stale epoch is %s, want fenced", o.Kind)
	}
	if r.caps.HoldsUntilClose {
		r.holds(false, kept)
	}
	again := r.both(10, 20)
	s.deliver(again)
	s.close()
	r.holds(false, kept, again)
}

func (r *sinkRig) batchUnder(e sdk.Epoch, s sdk.Stream, from, next int64) *sdk.Batch {
	return batchOf(part{s, e, from, next, plain(from, next)})
}

func sinkRecord(r *sinkRig) {
	r.start()
	stale := r.epoch(streamA)
	r.epoch(streamB)
	r.epochs[streamA] = r.acquire("another", streamA)[0].Epoch
	void := []coverage.Void{{Interval: coverage.Interval{From: 0, Next: 7}, Reason: coverage.BeforeStart}}
	record := func(e sdk.Epoch, void []coverage.Void) error {
		ctx, cancel := soon()
		defer cancel()
		return r.store().Record(ctx, sdk.LaneRaw, []sdk.CoverageRecord{
			{Stream: streamB, Epoch: r.epochs[streamB], Void: void}, {Stream: streamA, Epoch: e, Void: void}})
	}
	if err := record(stale, void); sdk.KindOf(err) != sdk.KindFenced {
		failf("record under a stale epoch: %v, want an error of kind fenced", err)
	}
	if err := record(stale, nil); sdk.KindOf(err) != sdk.KindFenced {
		failf("record of nothing under a stale epoch: %v, want an error of kind fenced: a host asks in this way whether it is still the owner", err)
	}
	must(record(r.epochs[streamA], nil), "record of nothing under the current epoch")
	if at := r.covered(streamB).FirstHole(); at != 0 {
		failf("a record that was fenced left [0,%d) of the other stream", at)
	}
	must(record(r.epochs[streamA], void), "record under the current epoch")
	r.restart()
	for _, s := range []sdk.Stream{streamA, streamB} {
		if at := r.covered(s).FirstHole(); at != 7 {
			failf("the first hole of %s is %d, want 7, where the recorded void ends", s, at)
		}
	}
}

func (r *sinkRig) covered(s sdk.Stream) *coverage.Set {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.store().Coverage(ctx, sdk.LaneRaw, []sdk.Stream{s})
	must(err, "read coverage")
	for _, c := range got {
		if c.Stream == s && c.Set != nil {
			return c.Set
		}
	}
	return &coverage.Set{}
}

func sinkCoverage(r *sinkRig) {
	s := r.open()
	s.deliver(r.full(streamA, 10, 20), r.batch(streamA, 20, 25, nil), r.full(streamB, 0, 3))
	check := func() {
		for _, c := range []struct {
			stream sdk.Stream
			want   coverage.Interval
		}{{streamA, coverage.Interval{From: 10, Next: 25}}, {streamB, coverage.Interval{From: 0, Next: 3}}, {streamUnknown, coverage.Interval{}}} {
			got := r.covered(c.stream).Held()
			if c.want.Empty() && len(got) == 0 || len(got) == 1 && got[0] == c.want {
				continue
			}
			failf("coverage of %s is %v, want %v", c.stream, got, c.want)
		}
	}
	check()
	s.send(r.full(streamA, 30, 40)) // not asked for
	if held := r.covered(streamA).Held(); len(held) > 1 {
		s.durable(s.seq) // then it must be durable
	}
	r.restart()
	s = r.open()
	if at := r.covered(streamA).FirstHole(); at != 0 {
		failf("the first hole is %d, want 0", at)
	}
	s.deliver(r.full(streamA, 0, 10))
	if at := r.covered(streamA).FirstHole(); at < 25 {
		failf("the first hole is %d once the hole below 10 is filled, want 25 or more", at)
	}
}

func sinkCursors(r *sinkRig) {
	s := r.open()
	send := func(from, next int64) {
		b := r.full(streamA, from, next)
		b.Cursors = []sdk.Cursor{{Stream: streamA, Position: next, Token: []byte{byte(next)}}}
		s.deliver(b)
	}
	want := func(at int64) {
		ctx, cancel := soon()
		defer cancel()
		got, err := r.store().Cursors(ctx, []sdk.Stream{streamA})
		must(err, "read cursors")
		if len(got) != 1 || got[0].Position != at || !bytes.Equal(got[0].Token, []byte{byte(at)}) {
			failf("cursors %+v, want the one of position %d", got, at)
		}
	}
	send(0, 10)
	want(10)
	send(20, 30) // what lies before it has not come
	want(10)
	send(10, 20)
	want(30)
	r.restart()
	want(30)
}

func sinkOrphan(r *sinkRig) {
	pid, _ := r.killHost(r.target.Settings, true)
	leaves(pid, time.Now())
	kept := r.first()
	r.open().deliver(kept)
	r.holds(true, kept)
}
