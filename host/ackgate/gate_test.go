package ackgate

import (
	"testing"

	"github.com/twg-io/twg/sdk"
)

func stream(p int) sdk.Stream { return sdk.Stream{Topic: "t", Partition: int32(p)} }

func span(run uint64, from, next int64) sdk.Span {
	return sdk.Span{Stream: stream(int(run)), Run: run, From: from, Next: next}
}

func durable(run uint64, from, next int64) sdk.Outcome {
	return sdk.Outcome{Stream: stream(int(run)), Run: run, From: from, Next: next, Kind: sdk.Durable}
}

func started(t *testing.T, gran sdk.Granularity, runs ...uint64) *Gate {
	t.Helper()
	g := New()
	for _, r := range runs {
		if _, err := g.Start(r, stream(int(r)), 0, 0, gran); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func track(t *testing.T, g *Gate, id uint64, spans ...sdk.Span) {
	t.Helper()
	if err := g.Track(id, spans); err != nil {
		t.Fatal(err)
	}
}

func complete(t *testing.T, g *Gate, id uint64, outcomes ...sdk.Outcome) {
	t.Helper()
	if err := g.Complete(id, outcomes); err != nil {
		t.Fatal(err)
	}
}

func wantFrontier(t *testing.T, g *Gate, run uint64, want int64) {
	t.Helper()
	if s, _ := g.Run(run); s.Frontier != want {
		t.Fatalf("run %d: frontier %d, want %d", run, s.Frontier, want)
	}
}

// Case 1: batch N fails, N+1 succeeds: nothing at or past N is committed.
func TestLaterBatchDoesNotPassAFailedOne(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1)
	track(t, g, 1, span(1, 0, 10))
	track(t, g, 2, span(1, 10, 20))
	track(t, g, 3, span(1, 20, 30))
	complete(t, g, 1, durable(1, 0, 10))
	complete(t, g, 2, sdk.Outcome{Stream: stream(1), Run: 1, From: 10, Next: 20, Kind: sdk.Retryable})
	complete(t, g, 3, durable(1, 20, 30))
	wantFrontier(t, g, 1, 10)
	complete(t, g, 2, durable(1, 10, 20))
	wantFrontier(t, g, 1, 30)
}

// G3: record 7 of 10 fails: 1-6 are committed under record, none under batch.
func TestPartialFailureByGranularity(t *testing.T) {
	for gran, want := range map[sdk.Granularity]int64{sdk.GranularityBatch: 0, sdk.GranularityRecord: 6} {
		g := started(t, gran, 1)
		track(t, g, 1, span(1, 0, 10))
		complete(t, g, 1, sdk.Outcome{Stream: stream(1), Run: 1, From: 0, Next: 10, Kind: sdk.Rejected,
			Rejected: []sdk.RejectedRow{{Position: 6, Reason: "no"}}})
		wantFrontier(t, g, 1, want)
	}
}

// INV1: whatever a sink says about rows that it refuses, none of them counts
// as durable.
func TestRejectedRowsNeverCount(t *testing.T) {
	for name, c := range map[string]struct {
		rows []int64
		want int64
	}{"in order": {[]int64{3, 7}, 3}, "out of order": {[]int64{7, 3}, 3}, "twice": {[]int64{4, 4}, 4}, "none named": {nil, 0}, "not its own": {[]int64{12}, 0}} {
		o := sdk.Outcome{Stream: stream(1), Run: 1, From: 0, Next: 10, Kind: sdk.Rejected}
		for _, p := range c.rows {
			o.Rejected = append(o.Rejected, sdk.RejectedRow{Position: p})
		}
		t.Run(name, func(t *testing.T) {
			g := started(t, sdk.GranularityRecord, 1)
			track(t, g, 1, span(1, 0, 10))
			complete(t, g, 1, o)
			wantFrontier(t, g, 1, c.want)
		})
	}
}

func TestBatchWaitsForAllItsSpans(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1, 2)
	track(t, g, 1, span(1, 0, 10), span(2, 0, 5))
	complete(t, g, 1, durable(1, 0, 10))
	wantFrontier(t, g, 1, 0)
	g.Forget(2) // its other stream was lost: it holds nothing back
	wantFrontier(t, g, 1, 10)
}

func TestGapsAndEmptySpansBlockNothing(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1)
	track(t, g, 1, span(1, 0, 7))
	track(t, g, 2, span(1, 7, 7))
	track(t, g, 3, span(1, 7, 9))
	complete(t, g, 3, durable(1, 7, 9))
	complete(t, g, 1, durable(1, 0, 7))
	wantFrontier(t, g, 1, 9)
}

func TestTrackRefuses(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1, 2)
	for name, spans := range map[string][]sdk.Span{
		"a hole":            {span(1, 1, 2)},
		"a dead run":        {span(9, 0, 2)},
		"another stream":    {{Stream: stream(2), Run: 1, From: 0, Next: 1}},
		"two of one run":    {span(1, 0, 2), span(1, 2, 3)},
		"backwards":         {span(1, 0, -1)},
		"position 2^48":     {span(1, 0, sdk.MaxPosition+1)},
		"good and then bad": {span(2, 0, 2), span(1, 1, 2)},
	} {
		if err := g.Track(1, spans); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	track(t, g, 1, span(1, 0, 2), span(2, 0, 2))
	if err := g.Track(1, []sdk.Span{span(1, 2, 3)}); err == nil {
		t.Error("a batch number twice: no error")
	}
}

func TestReceiptForWhatWasNotSent(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1)
	track(t, g, 1, span(1, 0, 10))
	track(t, g, 2, span(1, 10, 20))
	for name, o := range map[string]sdk.Outcome{
		"beyond the span":  durable(1, 5, 11),
		"of another batch": durable(1, 10, 20),
		"never sent":       durable(1, 30, 40),
		"backwards":        durable(1, 5, 4),
	} {
		if err := g.Complete(1, []sdk.Outcome{durable(1, 0, 10), o}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	wantFrontier(t, g, 1, 0) // nothing of a bad receipt counts
}

func TestReadyOnceAndAgainAfterFailure(t *testing.T) {
	g := started(t, sdk.GranularityBatch, 1)
	track(t, g, 1, span(1, 0, 10))
	complete(t, g, 1, durable(1, 0, 10))
	c := g.Ready(nil)
	if len(c) != 1 || c[0].Next() != 10 || len(g.Ready(nil)) != 0 {
		t.Fatalf("ready %v", c)
	}
	g.Failed(c[0])
	if c = g.Ready(nil); len(c) != 1 || c[0].Next() != 10 {
		t.Fatalf("after a failure: ready %v", c)
	}
	g.Committed(c[0])
	if s, _ := g.Run(1); !s.Settled() {
		t.Fatalf("not settled: %+v", s)
	}
	g.Forget(1)
	if g.Failed(c[0]); len(g.Ready(nil)) != 0 {
		t.Fatal("a forgotten run is committable")
	}
}

// A broker that is ahead of raw is rewound: the start position is given out.
func TestStartBelowTheCommittedPosition(t *testing.T) {
	g := New()
	if _, err := g.Start(1, stream(1), 40, 90, sdk.GranularityBatch); err != nil {
		t.Fatal(err)
	}
	if c := g.Ready(nil); len(c) != 1 || c[0].Next() != 40 {
		t.Fatalf("ready %v, want the rewind to 40", c)
	}
}

func BenchmarkTrackComplete(b *testing.B) {
	g := New()
	g.Start(1, stream(1), 0, 0, sdk.GranularityBatch)
	spans, outs := make([]sdk.Span, 1), make([]sdk.Outcome, 1)
	var ready []Committable
	b.ReportAllocs()
	for i := range int64(b.N) {
		spans[0], outs[0] = span(1, i, i+1), durable(1, i, i+1)
		if err := g.Track(uint64(i)+1, spans); err != nil {
			b.Fatal(err)
		}
		if err := g.Complete(uint64(i)+1, outs); err != nil {
			b.Fatal(err)
		}
		ready = g.Ready(ready[:0])
	}
}
