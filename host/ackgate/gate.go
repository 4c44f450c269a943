// Package ackgate decides from a sink's receipts how far each stream may be
// committed. Spans go in, frontiers come out; there is no I/O, no clock and
// no goroutine. A Gate is not safe for concurrent use.
//
// Enforces INV2: within a run a frontier is monotone and never passes the
// contiguous durable prefix.
package ackgate

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Committable is a position below which everything is durable. Only a Gate
// can make one, from receipts (or from a Start, whose position the caller took
// from durable coverage), so "commit before durable" has no spelling.
type Committable struct {
	stream sdk.Stream
	run    uint64
	next   int64
}

// Stream, Run and Next say what may be committed.
func (c Committable) Stream() sdk.Stream { return c.stream }
func (c Committable) Run() uint64        { return c.run }
func (c Committable) Next() int64        { return c.next }

// Mark is what the source is told.
func (c Committable) Mark() sdk.Mark { return sdk.Mark{Stream: c.stream, Run: c.run, Next: c.next} }

// Gate follows the runs of one pipeline.
type Gate struct {
	runs    map[uint64]*run
	order   []*run // by Start, so that Ready is deterministic
	batches map[uint64]*batch
	free    []*batch
	tracks  uint64   // calls of Track
	live    []*run   // of the spans that are tracked
	found   []*entry // of the outcomes that are taken
}

// run is one Start of a stream.
type run struct {
	id     uint64
	stream sdk.Stream
	record bool // granularity record
	// Positions in [frontier, tail) are tracked and not all durable.
	frontier, tail int64
	handed         int64 // the newest position that Ready gave out
	committed      int64 // the newest position that Committed confirmed
	queue          []entry
	head           int
	tracked        uint64 // the newest call of Track that has a span of it
	forgotten      bool
}

// entry is a tracked span.
type entry struct {
	from, next int64
	batch      *batch
	done       bool
	parts      *coverage.Set // durable parts, while only some are
}

// batch counts what of it is not durable yet.
type batch struct {
	id   uint64
	left int // spans, of live runs, that are not durable
	refs int // entries in queues
	runs []*run
}

// New returns a gate with no runs.
func New() *Gate {
	return &Gate{runs: map[uint64]*run{}, batches: map[uint64]*batch{}}
}

// Start begins a run at a position below which the caller knows everything to
// be durable or void. committed is what the source's server holds (or
// sdk.NoPosition): if that differs, Ready gives out the start position.
func (g *Gate) Start(id uint64, s sdk.Stream, at, committed int64, gran sdk.Granularity) (Committable, error) {
	if _, ok := g.runs[id]; ok {
		return Committable{}, fmt.Errorf("start run %d of %s: the number was used before", id, s)
	}
	r := &run{id: id, stream: s, record: gran == sdk.GranularityRecord, frontier: at, tail: at, handed: committed, committed: committed}
	g.runs[id] = r
	g.order = append(g.order, r)
	return Committable{s, id, at}, nil
}

// Track takes a batch's spans before it is sent. Each must continue its run.
// On an error nothing was tracked.
func (g *Gate) Track(id uint64, spans []sdk.Span) error {
	if _, ok := g.batches[id]; ok {
		return fmt.Errorf("track batch %d: it is tracked already", id)
	}
	g.tracks++
	g.live = g.live[:0]
	for i := range spans {
		r, err := g.checkNext(&spans[i])
		if err != nil {
			return fmt.Errorf("track batch %d: %w", id, err)
		}
		g.live = append(g.live, r)
	}
	b := g.newBatch(id)
	b.runs = append(b.runs, g.live...)
	for i, r := range b.runs {
		from, next := spans[i].From, spans[i].Next
		r.push(entry{from: from, next: next, batch: b, done: from == next})
		b.refs++
		if from != next {
			b.left++
		}
	}
	if commitOnSend {
		b.left = 0
	}
	g.settle(b)
	return nil
}

func (g *Gate) checkNext(s *sdk.Span) (*run, error) {
	r, ok := g.runs[s.Run]
	switch {
	case !ok:
		return nil, fmt.Errorf("span [%d,%d) of %s: run %d is not live", s.From, s.Next, s.Stream, s.Run)
	case r.stream != s.Stream:
		return nil, fmt.Errorf("span [%d,%d): run %d is one of %s, not of %s", s.From, s.Next, s.Run, r.stream, s.Stream)
	case s.From != r.tail:
		return nil, fmt.Errorf("span [%d,%d) of %s: the run goes on at %d", s.From, s.Next, s.Stream, r.tail)
	case r.tracked == g.tracks:
		return nil, fmt.Errorf("span [%d,%d) of %s: a second span of one run", s.From, s.Next, s.Stream)
	}
	r.tracked = g.tracks
	return r, s.Validate()
}

func (g *Gate) newBatch(id uint64) *batch {
	var b *batch
	if n := len(g.free); n > 0 {
		b, g.free = g.free[n-1], g.free[:n-1]
		clear(b.runs)
		*b = batch{id: id, runs: b.runs[:0]}
	} else {
		b = &batch{id: id}
	}
	g.batches[id] = b
	return b
}

// Complete takes outcomes of a tracked batch. Only what is durable moves
// anything; spans of runs that are forgotten are ignored. An outcome for what
// was never tracked is an error, and nothing of it counts.
func (g *Gate) Complete(id uint64, outcomes []sdk.Outcome) error {
	b, ok := g.batches[id]
	if !ok {
		return nil // everything of it was forgotten, or is durable already
	}
	g.found = g.found[:0]
	for i := range outcomes {
		e, err := g.lookUp(b, &outcomes[i])
		if err != nil {
			return err
		}
		g.found = append(g.found, e)
	}
	for i, e := range g.found {
		if e != nil && e.durable(&outcomes[i]) {
			b.done()
		}
	}
	g.settle(b)
	return nil
}

// lookUp finds the tracked span that o answers; nil: o changes nothing.
func (g *Gate) lookUp(b *batch, o *sdk.Outcome) (*entry, error) {
	r, ok := g.runs[o.Run]
	if !ok || o.From == o.Next {
		return nil, nil
	}
	e := r.find(o.From)
	if e != nil && e.batch == b && o.From <= o.Next && o.Next <= e.next {
		return e, nil
	}
	if o.From <= o.Next && o.Next <= r.frontier {
		return nil, nil // durable before: a repeated answer
	}
	return nil, fmt.Errorf("receipt for batch %d: [%d,%d) of %s was not sent in it", b.id, o.From, o.Next, o.Stream)
}

// durable notes what an outcome makes durable of e, and returns true if that was
// the last of it. One that rejects rows and names none, or one that is not its
// own, makes nothing durable.
func (e *entry) durable(o *sdk.Outcome) bool {
	if e.done || o.Kind != sdk.Durable && (o.Kind != sdk.Rejected || !namesOwn(o)) {
		return false
	}
	if o.Kind == sdk.Durable && o.From == e.from && o.Next == e.next {
		e.done, e.parts = true, nil
		return true
	}
	if e.parts == nil {
		e.parts = &coverage.Set{}
	}
	for _, i := range accepted(o) {
		e.parts.AddHeld(i)
	}
	if len(e.parts.Missing(coverage.Interval{From: e.from, Next: e.next})) == 0 {
		e.done, e.parts = true, nil
	}
	return e.done
}

func namesOwn(o *sdk.Outcome) bool {
	return len(o.Rejected) > 0 && !slices.ContainsFunc(o.Rejected, func(x sdk.RejectedRow) bool {
		return x.Position < o.From || x.Position >= o.Next
	})
}

// accepted is what an outcome leaves of its range: each rejected position is a
// hole, whatever the order in which they are named.
func accepted(o *sdk.Outcome) []coverage.Interval {
	if o.Kind == sdk.Durable {
		return []coverage.Interval{{From: o.From, Next: o.Next}}
	}
	var refused coverage.Set
	for _, x := range o.Rejected {
		refused.AddHeld(coverage.Interval{From: x.Position, Next: x.Position + 1})
	}
	return refused.Missing(coverage.Interval{From: o.From, Next: o.Next})
}

// done counts a span that has become durable, or is of no run any more.
func (b *batch) done() {
	if !commitOnSend {
		b.left--
	}
}

// settle moves the frontiers of b's runs as far as they may go.
func (g *Gate) settle(b *batch) {
	for _, r := range b.runs {
		if !r.forgotten {
			g.advance(r)
		}
	}
	if b.left == 0 {
		delete(g.batches, b.id)
	}
	g.recycle(b)
}

// recycle keeps a batch that nothing refers to any more for the next Track.
func (g *Gate) recycle(b *batch) {
	if b.left == 0 && b.refs == 0 && g.batches[b.id] != b {
		g.free = append(g.free, b)
		b.refs = -1 // once
	}
}

// advance pops what is durable off the head of the queue. Under granularity
// batch a span counts once its whole batch is durable; under record, each
// durable position does.
func (g *Gate) advance(r *run) {
	for r.head < len(r.queue) {
		e := &r.queue[r.head]
		if !r.record && e.batch.left > 0 || r.record && !e.done && !commitOnSend {
			if r.record && e.parts != nil {
				r.frontier = max(r.frontier, e.prefix())
			}
			return
		}
		r.frontier = e.next
		b := e.batch
		b.refs--
		r.queue[r.head] = entry{}
		r.head++
		g.recycle(b)
	}
}

// push appends an entry; the room that popped ones left is used again.
func (r *run) push(e entry) {
	if r.head > len(r.queue)/2 && len(r.queue) == cap(r.queue) {
		n := copy(r.queue, r.queue[r.head:])
		clear(r.queue[n:])
		r.queue, r.head = r.queue[:n], 0
	}
	r.queue = append(r.queue, e)
	r.tail = e.next
}

// prefix is the end of the durable positions that begin at the span's start.
func (e *entry) prefix() int64 {
	holes := e.parts.Missing(coverage.Interval{From: e.from, Next: e.next})
	return holes[0].From
}

// find returns the tracked span that holds position p, or nil.
func (r *run) find(p int64) *entry {
	lo, hi := r.head, len(r.queue)
	for lo < hi {
		m := (lo + hi) / 2
		if r.queue[m].next <= p {
			lo = m + 1
		} else {
			hi = m
		}
	}
	if lo < len(r.queue) && r.queue[lo].from <= p {
		return &r.queue[lo]
	}
	return nil
}
