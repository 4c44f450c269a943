package plugintest

import (
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func sinkDescribe(r *sinkRig) {
	r.described(sdk.KindSink)
	r.untouched("Describe")
}

func (r *sinkRig) untouched(by string) {
	if r.target.Touched != nil && r.target.Touched() {
		failf("%s has touched the target", by)
	}
}

func sinkConfigure(r *sinkRig) {
	p, caps := r.configured(r.target.Settings, 0)
	switch {
	case len(caps.Shapes) == 0 || slices.ContainsFunc(caps.Shapes, func(s sdk.Shape) bool { return s != sdk.ShapeRaw && s != sdk.ShapeTable }):
		failf("shapes %v: a sink takes raw, table or both", caps.Shapes)
	case caps.Idempotent == caps.AppendOnly:
		failf("idempotent=%t and append_only=%t: rows that are written again are there once, or they are there twice", caps.Idempotent, caps.AppendOnly)
	case caps.Durable && caps.DurableFlush:
		failf("durable and durable_flush: receipts promise stable storage, or they do not")
	case caps.Fencing && !caps.OffsetStore:
		failf("fencing without offset_store: nobody issues the epochs")
	case caps.MaxBatchBytes < 0:
		failf("max_batch_bytes is %d", caps.MaxBatchBytes)
	case caps.Position != "" || caps.Origin != "":
		failf("a sink declares a source's capabilities: position %q, origin %q", caps.Position, caps.Origin)
	}
	r.untouched("Configure")
	r.refuses(p.Describe(), r.target.Settings, r.cfg.Invalid)
	r.untouched("Configure with wrong settings")
}

func sinkDurable(r *sinkRig) {
	s := r.open()
	b := []*sdk.Batch{r.full(streamA, 0, 50), r.both(50, 60), r.full(streamB, 60, 61)}
	s.deliver(b...)
	r.proc.Kill()
	r.holds(false, b...)
}

// sinkDurableFlush: what comes after the Flush may be lost, or not.
func sinkDurableFlush(r *sinkRig) {
	s := r.open()
	b := []*sdk.Batch{r.full(streamA, 0, 50), r.both(50, 60), r.full(streamB, 60, 61)}
	s.deliver(b...)
	r.restart()
	r.holds(false, b...)
	next := r.open()
	after := r.full(streamA, 60, 70)
	next.deliver(after)
	r.proc.Kill()
	r.holds(false, append(b, after)...)
}

// sinkStopFlushes: nothing that was written is lost by an end in good order.
func sinkStopFlushes(r *sinkRig) {
	s := r.open()
	b := []*sdk.Batch{r.full(streamA, 0, 50), r.both(50, 60)}
	for _, x := range b {
		s.send(x)
	}
	s.close()
	s.get(func() {
		if s.flushed != s.seq {
			failf("Stopped came when Flushed named %d of %d batches", s.flushed, s.seq)
		}
	})
	r.proc.Kill()
	r.holds(false, b...)
}

func sinkRows(r *sinkRig) {
	s := r.open()
	a := r.batch(streamA, 0, 100, odd(5))
	b := batchOf(part{streamA, r.epoch(streamA), 100, 130, odd(101)}, part{streamB, r.epoch(streamB), 7, 40, odd(7)})
	s.deliver(a, b)
	s.close()
	r.holds(false, a, b)
}

func sinkSizes(r *sinkRig) {
	s := r.open()
	large := r.batch(streamA, 0, 1, sized(0, 1, 5<<20))
	many := r.batch(streamA, 1, 1001, sized(1, 1000, 5<<10))
	s.deliver(large, many)
	s.close()
	r.holds(false, large, many)
}

func sinkRanges(r *sinkRig) {
	s := r.open()
	first, rest := r.full(streamA, 0, 4), r.full(streamA, 0, 10)
	rest.Rows = []sdk.RowRange{{From: 4, To: 7}, {From: 7, To: 10}}
	s.deliver(first)
	s.deliver(rest)
	none := r.full(streamA, 2, 8)
	none.Rows = []sdk.RowRange{}
	s.deliver(none)
	s.close()
	r.holds(false, first, rest)
}

func sinkEmptySpan(r *sinkRig) {
	s := r.open()
	before, markers, after := r.full(streamA, 0, 3), r.batch(streamA, 3, 9, nil), r.full(streamA, 9, 12)
	s.deliver(before, markers, after)
	spanOnly := &sdk.Batch{Spans: r.batch(streamB, 5, 8, nil).Spans} // and no frame at all
	s.deliver(spanOnly)
	s.close()
	r.holds(false, before, after)
}

// sinkReceipts counts the outcomes. That none answers what was not asked, or
// twice, the host's side of the session checks: it would fail.
func sinkReceipts(r *sinkRig) {
	s := r.open()
	var all []*sdk.Batch
	for p := int64(0); p < 50; p++ {
		all = append(all, r.both(10*p, 10*p+10))
	}
	s.deliver(all...)
	s.close()
	s.get(func() {
		for seq, n := range s.spans {
			if len(s.answers[seq]) != n {
				failf("batch %d of %d spans has %d outcomes", seq, n, len(s.answers[seq]))
			}
		}
		if s.failed != nil {
			failf("the session failed: %w", s.failed)
		}
	})
	r.holds(false, all...)
}

func sinkNoFlush(r *sinkRig) {
	s := r.open()
	s.taken(s.send(r.full(streamA, 0, 10)), s.send(r.both(10, 20)))
}

// sinkGranularity: that no part overlaps, and none lies outside of its span,
// the host's side of the session checks.
func sinkGranularity(r *sinkRig) {
	r.start()
	ctx, cancel := soon()
	defer cancel()
	s, err := r.tryOpen(ctx, sdk.GranularityRecord)
	must(err, "open a session")
	b := r.both(0, 40)
	seq := s.send(b)
	s.flush(seq)
	for _, sp := range b.Spans {
		s.covers(seq, sp)
	}
	s.close()
	r.holds(false, b)
}

// covers waits until a span's durable outcomes make up all of it.
func (s *sinkSession) covers(seq uint64, sp sdk.Span) {
	whole := coverage.Interval{From: sp.From, Next: sp.Next}
	ok := s.within(patience, func() bool {
		var got coverage.Set
		for _, o := range s.answers[seq] {
			if o.Stream == sp.Stream && s.good(o.Kind) {
				got.AddHeld(coverage.Interval{From: o.From, Next: o.Next})
			}
		}
		return s.failed != nil || got.Covers(whole)
	})
	s.get(func() {
		if s.failed != nil {
			failf("the session failed: %w", s.failed)
		}
		if !ok {
			failf("the outcomes of batch %d do not make up [%d,%d) of %s: %+v", seq, sp.From, sp.Next, sp.Stream, s.answers[seq])
		}
	})
}

func sinkSignals(r *sinkRig) {
	s := r.open()
	one, two := r.full(streamA, 0, 10), r.full(streamA, 10, 20)
	s.send(one)
	s.interrupt(r.proc) // and the batch has arrived
	s.flush(1)
	s.durable(1)
	s.send(two)
	s.within(quiet/5, func() bool { return false }) // it arrives, too
	terminate(r.proc)
	s.durable(2)
	r.holds(false, one, two)
}

func sinkPing(r *sinkRig) {
	r.proc, r.caps = r.configured(r.target.Settings, quiet/5)
	r.sink = r.proc.Sink(r.caps)
	s := r.open()
	if s.within(2*quiet, func() bool { return s.failed != nil }) {
		failf("the session failed: %w", s.failed)
	}
	s.deliver(r.full(streamA, 0, 10))
	s.close()
}
