package plugintest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

func sinkNoEpoch(r *sinkRig) {
	s := r.open()
	bare := func(from, next int64) *sdk.Batch { return r.batchUnder(sdk.Epoch{}, streamA, from, next) }
	one, two := bare(0, 10), bare(20, 30)
	s.deliver(one, two, one, batchOf(part{stream: streamB, from: 0, next: 5}))
	r.holds(true, one, two)
	r.restart()
	s = r.open()
	all := bare(0, 40)
	s.deliver(all)
	s.close()
	r.holds(true, all)
}

// replayed is what a replay gave.
type replayed struct {
	recs []frame.Record
	ids  []byte
	read string
}

// replay reads a window and checks what holds for any.
func (r *sinkRig) replay(s sdk.Stream, from, next int64) (out replayed) {
	ctx, cancel := soon()
	defer cancel()
	var spans []sdk.Span
	read, err := r.sink.(sdk.Replayer).Replay(ctx, sdk.Window{Stream: s, From: from, Next: next}, func(b *sdk.Batch) error {
		if err := checkReplayed(b, s); err != nil {
			return err
		}
		c := b.Frame.Clone()
		for i := range c.NumRecords() {
			var rec frame.Record
			c.Record(i, &rec)
			out.recs = append(out.recs, rec)
		}
		out.ids = append(out.ids, b.IDs...)
		spans = append(spans, b.Spans...)
		return nil
	})
	must(err, "replay")
	out.read = joined(read)
	if got := joined(spans); got != out.read {
		failf("the batches' spans are %s and what is said to be read is %s", got, out.read)
	}
	return out
}

func checkReplayed(b *sdk.Batch, s sdk.Stream) error {
	n := b.Frame.NumRecords()
	if len(b.Spans) != 1 || b.Spans[0].Stream != s || b.Spans[0].Validate() != nil || len(b.IDs) != 16*n {
		return fmt.Errorf("a batch of %d rows has spans %+v and %d bytes of ids", n, b.Spans, len(b.IDs))
	}
	if n > sdk.DefaultLimits.FrameRecords || n > 1 && b.Frame.Len() > 2*sdk.DefaultLimits.FrameBytes {
		return fmt.Errorf("a frame of %d records and %d bytes", n, b.Frame.Len())
	}
	at := b.Spans[0].From
	for i := range n {
		if p := b.Frame.Position(i); p < at || p >= b.Spans[0].Next || b.Frame.Stream(b.Frame.StreamIndex(i)) != s {
			return fmt.Errorf("position %d of %s after %d in span %+v", p, b.Frame.Stream(b.Frame.StreamIndex(i)), at, b.Spans[0])
		}
		at = b.Frame.Position(i) + 1
	}
	return nil
}

// joined is spans as text, those that follow each other as one.
func joined(spans []sdk.Span) (out string) {
	for i := 0; i < len(spans); {
		from, next := spans[i].From, spans[i].Next
		for i++; i < len(spans) && spans[i].From == next; i++ {
			next = spans[i].Next
		}
		out += fmt.Sprintf("[%d,%d)", from, next)
	}
	return out
}

func (r *sinkRig) wantReplay(s sdk.Stream, from, next int64, read string, want []frame.Record, ids []byte) {
	got := r.replay(s, from, next)
	if got.read != read {
		failf("replay of [%d,%d): read %s, want %s", from, next, got.read, read)
	}
	if len(got.recs) != len(want) {
		failf("replay of [%d,%d): %d records, want %d", from, next, len(got.recs), len(want))
	}
	for i := range want {
		if d := differ(got.recs[i], want[i]); d != "" || got.recs[i].Position != want[i].Position {
			failf("replay of [%d,%d): record %d, at position %d, want the one at %d: %s", from, next, i, got.recs[i].Position, want[i].Position, d)
		}
	}
	if ids != nil && !bytes.Equal(got.ids, ids) {
		failf("replay of [%d,%d): other ids than those that were written", from, next)
	}
}

func sinkReplay(r *sinkRig) {
	s := r.open()
	strange := odd(0)
	end := strange[len(strange)-1].Position + 1
	both := batchOf(part{streamA, r.epoch(streamA), 0, end, strange}, part{streamB, r.epoch(streamB), 0, 20, plain(0, 20)})
	large := sized(end, 3000, 1000)
	next := end + int64(len(large))
	bulk := r.batch(streamA, end, next, large)
	s.deliver(both, bulk)
	r.restart()
	all := append(append([]frame.Record{}, strange...), large...)
	ids := append(append([]byte{}, both.IDs[:16*len(strange)]...), bulk.IDs...)
	r.wantReplay(streamA, 0, sdk.MaxPosition, fmt.Sprintf("[0,%d)", next), all, ids)
	r.wantReplay(streamA, end, end+100, fmt.Sprintf("[%d,%d)", end, end+100), large[:100], bulk.IDs[:1600])
	r.wantReplay(streamB, 5, 15, "[5,15)", plain(5, 15), nil)
	stop := errors.New("enough")
	ctx, cancel := soon()
	defer cancel()
	_, err := r.sink.(sdk.Replayer).Replay(ctx, sdk.Window{Stream: streamA, Next: next}, func(*sdk.Batch) error { return stop })
	if !errors.Is(err, stop) {
		failf("a replay whose reader gives up: %v", err)
	}
	r.wantReplay(streamB, 0, 20, "[0,20)", plain(0, 20), nil) // and it goes on
}

func sinkReplayHeld(r *sinkRig) {
	s := r.open()
	s.deliver(r.batch(streamA, 0, 10, plain(2, 8)), r.batch(streamA, 10, 15, nil), r.full(streamA, 30, 40), r.batch(streamA, 50, 60, nil))
	r.wantReplay(streamA, 0, 100, "[0,15)[30,40)[50,60)", append(plain(2, 8), plain(30, 40)...), nil)
	r.wantReplay(streamA, 9, 35, "[9,15)[30,35)", plain(30, 35), nil)
	r.wantReplay(streamA, 52, 55, "[52,55)", nil, nil)
	r.wantReplay(streamA, 15, 30, "", nil, nil)
	r.wantReplay(streamUnknown, 0, 100, "", nil, nil)
}

func (r *sinkRig) prune(dry bool, p sdk.Prune) sdk.Pruned {
	ctx, cancel := soon()
	defer cancel()
	p.Stream = streamA
	got, err := r.recovery().Prune(ctx, []sdk.Prune{p}, dry)
	must(err, "prune")
	if len(got) != 1 || got[0].Stream != streamA {
		failf("prune of one stream: %+v", got)
	}
	return got[0]
}

func (r *sinkRig) wantPruned(got sdk.Pruned, floor, rows int64) {
	if got.RawFloor != floor || got.Rows != rows {
		failf("prune: floor %d, %d rows, want floor %d, %d rows", got.RawFloor, got.Rows, floor, rows)
	}
}

// A sink that keeps files deletes whole ones: each batch is one, and is
// deleted whole or not at all.
func sinkPrune(r *sinkRig) {
	s := r.open()
	var left []*sdk.Batch
	for _, at := range []int64{0, 20, 40, 60, 100} { // [80,100) is a hole
		b := r.full(streamA, at, at+20)
		s.deliver(b)
		left = append(left, b)
	}
	other := r.full(streamB, 0, 20)
	s.deliver(other)
	left = append(left, other)
	r.wantPruned(r.prune(true, sdk.Prune{Below: 40}), 40, 40)
	r.holds(false, left...)
	r.wantFloor(laneClean, streamA, sdk.Floors{})
	r.wantPruned(r.prune(false, sdk.Prune{Below: sdk.MaxPosition, OlderThan: time.UnixMilli(1_700_000_000_000 + 20)}), 20, 20)
	r.wantPruned(r.prune(false, sdk.Prune{Below: 40}), 40, 20)
	r.wantPruned(r.prune(false, sdk.Prune{Below: 40}), 40, 0)
	r.holds(false, left[2:]...)
	r.wantLane(sdk.LaneRaw, streamA, "held [{40 80} {100 120}] void [{{0 40} pruned}] aside []")
	s.deliver(r.full(streamA, 0, 20)) // it comes again, and does not come back
	r.holds(false, left[2:]...)
	r.wantPruned(r.prune(false, sdk.Prune{Below: sdk.MaxPosition}), 80, 40)
	check := func() {
		r.wantLane(sdk.LaneRaw, streamA, "held [{100 120}] void [{{0 80} pruned}] aside []")
		r.wantFloor(laneClean, streamA, sdk.Floors{Raw: 80})
		r.wantFloor(laneClean, streamB, sdk.Floors{})
		if at := r.covered(streamA).FirstHole(); at != 80 {
			failf("the first hole is %d after a prune, want 80", at)
		}
		r.holds(false, left[4:]...)
		r.wantReplay(streamA, 0, 200, "[100,120)", plain(100, 120), nil)
	}
	check()
	r.restart()
	check()
	s = r.open()
	s.deliver(r.full(streamA, 80, 100))
	if at := r.covered(streamA).FirstHole(); at != 120 {
		failf("the first hole is %d once the hole is filled, want 120", at)
	}
}
