package pipeline

import (
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// outbound is what is on its way to the sink. Owned by the loop.
type outbound struct {
	ses      *session // nil: none is open
	lastItem uint64
	items    []*item // not final yet, by id
	sent     map[uint64]*sending
	lastSeq  uint64
	unasked  unasked
	fails    int
}

// sending is one batch under one seq, until each of its spans is answered.
type sending struct {
	it *item
	at time.Time
	// charge is what the budget is charged for it.
	charge int64
	spans  []sdk.Span
	open   [][]coverage.Interval // of each span, what is not answered
}

func (o *outbound) init() { o.sent = map[uint64]*sending{} }

func (o *outbound) add(it *item) { o.items = append(o.items, it) }

func (o *outbound) remove(it *item) {
	i, ok := slices.BinarySearchFunc(o.items, it.id, func(a *item, id uint64) int { return int(int64(a.id) - int64(id)) })
	switch {
	case !ok:
	case i == 0: // almost always: there may be very many
		o.items[0] = nil
		o.items = o.items[1:]
	default:
		o.items = slices.Delete(o.items, i, i+1)
	}
}

// send gives an item's open parts to the session; with none open it waits.
func (p *Pipeline) send(it *item) {
	o := &p.out
	if o.ses == nil || it.batch == nil {
		return
	}
	faultpoint.Hit("track")
	for _, b := range it.compose() {
		o.lastSeq++
		b.Seq = o.lastSeq
		s := &sending{it: it, at: time.Now(), charge: p.charge(b), spans: b.Spans, open: make([][]coverage.Interval, len(b.Spans))}
		for i, sp := range b.Spans {
			s.open[i] = []coverage.Interval{{From: sp.From, Next: sp.Next}}
		}
		o.sent[b.Seq] = s
		it.inFlight++
		o.unasked.charge += s.charge
		p.stat.Observed.sent(b)
		o.ses.push(b)
	}
}

// sendLater sends what was retryable again, after a pause.
func (p *Pipeline) sendLater(it *item) {
	it.attempts++
	ses := p.out.ses
	time.AfterFunc(backoff(it.attempts), func() {
		p.box.post(func() {
			if p.out.ses == ses && it.inFlight == 0 { // a newer session has sent it already
				p.send(it)
			}
		})
	})
}

// answer notes which parts a receipt answers. Each part of a span has one
// final outcome; anything else is a protocol error, and nothing of it counts.
func (o *outbound) answer(r sdk.Receipt, latency *Histogram) (*item, error) {
	s := o.sent[r.Seq]
	if s == nil {
		return nil, protocolErrorOf("sink", "a receipt for batch %d, which is not open", r.Seq)
	}
	left := 0
	for _, out := range r.Outcomes {
		i := slices.IndexFunc(s.spans, func(sp sdk.Span) bool { return sp.Run == out.Run && sp.Stream == out.Stream })
		if i < 0 || !isOpen(s.open[i], out.From, out.Next) {
			return nil, protocolErrorOf("sink", "a receipt for [%d,%d) of %s in batch %d, which is not open there", out.From, out.Next, out.Stream, r.Seq)
		}
		if out.From < out.Next || s.spans[i].From == s.spans[i].Next {
			s.open[i] = subtract(s.open[i], out.From, out.Next)
		}
	}
	for _, l := range s.open {
		left += len(l)
	}
	if left == 0 {
		delete(o.sent, r.Seq)
		o.unasked.answered(r.Seq, s.charge)
		s.it.inFlight--
		latency.observe(time.Since(s.at).Seconds())
	}
	return s.it, nil
}

// isOpen reports whether [from, next) lies inside one interval.
func isOpen(in []coverage.Interval, from, next int64) bool {
	return slices.ContainsFunc(in, func(l coverage.Interval) bool { return l.From <= from && from <= next && next <= l.Next })
}

// dropRun: nothing of the run is sent again; what nobody waits for any more
// is released.
func (o *outbound) dropRun(p *Pipeline, run uint64) {
	o.items = slices.DeleteFunc(o.items, func(it *item) bool {
		it.dropRun(run)
		if it.inFlight > 0 || it.wanted() {
			return false
		}
		p.release(it)
		return true
	})
}

// sessionUp sends everything that is open in a new session, in the order of
// its positions.
func (p *Pipeline) sessionUp(ses *session) {
	o := &p.out
	p.stat.SinkReached, p.stat.SinkError, p.stat.Observed.SinkSince = true, nil, time.Time{}
	o.ses, o.lastSeq, o.unasked, o.fails = ses, 0, unasked{first: 1}, 0
	if len(o.items) == 0 {
		p.flow.writesWork() // nothing is there to be written, and to prove it
	}
	for _, it := range o.items {
		p.send(it)
	}
}

// sessionDown: whatever was not answered is open again.
func (p *Pipeline) sessionDown(ses *session, err error) {
	o := &p.out
	if o.ses == ses {
		o.ses = nil
		o.sent = map[uint64]*sending{}
		o.items = slices.DeleteFunc(o.items, func(it *item) bool {
			it.inFlight = 0
			if it.wanted() {
				return false
			}
			p.release(it)
			return true
		})
	}
	if p.stopping != nil {
		return
	}
	o.fails++
	p.flow.writeFailed(err)
	p.stat.SinkRestarts++
	p.stat.SinkError = err
	p.stat.Observed.sinkDown()
	if sdk.KindOf(err) == sdk.KindFatal {
		p.halt(err)
		return
	}
	p.log.Warn("sink session failed; opening a new one", "error", err)
}

func (it *item) span(s sdk.Stream, run uint64) int {
	return slices.IndexFunc(it.batch.Spans, func(sp sdk.Span) bool { return sp.Run == run && sp.Stream == s })
}

func protocolErrorOf(who, format string, args ...any) error {
	return sdk.Errorf(sdk.KindRetryable, "talk to the "+who, "the "+who+" broke the protocol: %w", fmt.Errorf(format, args...))
}
