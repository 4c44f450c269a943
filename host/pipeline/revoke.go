package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// revoke is streams that the source must give up by a deadline. Until then
// what is in flight of them is made durable and committed; what is not by then
// will be read again by the next owner.
type revoke struct {
	src      *source
	sts      []*stream
	runs     []uint64
	deadline time.Time
	done     chan struct{}
}

func (p *Pipeline) revoking(src *source, runs []uint64, deadline time.Time, done chan struct{}) {
	r := &revoke{src: src, runs: runs, deadline: deadline, done: done}
	for _, id := range runs {
		if st := p.byRun[id]; st != nil {
			r.sts = append(r.sts, st)
		}
	}
	p.log.Info("streams are being revoked", "streams", len(runs))
	p.revokes = append(p.revokes, r)
	if d := time.Until(deadline); d > 0 {
		time.AfterFunc(d, func() { p.box.post(func() {}) }) // look again then
	}
}

// finishRevokes drops the streams of each revoke that is settled or out of
// time, and lets the source's callback return.
func (p *Pipeline) finishRevokes() {
	p.revokes = slices.DeleteFunc(p.revokes, func(r *revoke) bool {
		if p.src == r.src && time.Now().Before(r.deadline) && !p.settled(r.sts) {
			return false
		}
		for _, st := range r.sts {
			if p.live(st) {
				p.drop(st)
			}
		}
		p.goRun(func() {
			defer close(r.done)
			if !r.src.isOpen() {
				return
			}
			ctx, cancel := context.WithTimeout(r.src.life, closeTimeout)
			defer cancel()
			p.settleLanes(ctx)
			if err := r.src.reader.Drop(ctx, r.runs); err != nil {
				p.log.Debug("drop revoked streams", "error", err)
			}
		})
		return true
	})
}

// settled reports whether all that was taken of the streams is durable and
// committed, and no commit is under way that could come after a Drop.
func (p *Pipeline) settled(sts []*stream) bool {
	if p.commits.busy {
		return false
	}
	for _, st := range sts {
		if s, ok := p.gate.Run(st.run); ok && !s.Settled() {
			return false
		}
	}
	return true
}

// receipt takes a sink's answer: what is durable moves the gate, what is
// retryable is sent again, what is fenced is given up, what is rejected halts.
func (p *Pipeline) receipt(ses *session, r sdk.Receipt) {
	if p.out.ses != ses {
		return // an old session: the wire has reported it as an error already
	}
	faultpoint.Hit("receipt")
	it, err := p.out.answer(r, &p.stat.Observed.Latency)
	if err != nil {
		ses.fail(err)
		return
	}
	if slices.ContainsFunc(r.Outcomes, func(o sdk.Outcome) bool { return o.Kind == sdk.Written }) {
		ses.fail(protocolErrorOf("sink", "batch %d is answered as written; the sink that gates is durable", r.Seq))
		return
	}
	if err := p.gate.Complete(it.id, r.Outcomes); err != nil {
		ses.fail(protocolErrorOf("sink", "%w", err))
		return
	}
	p.answered(r.Outcomes)
	it.inFlight++ // held while outcomes may drop runs
	for i := range r.Outcomes {
		p.outcome(it, &r.Outcomes[i])
	}
	p.offer(it, r.Outcomes)
	it.inFlight--
	if it.inFlight > 0 || p.stopping != nil && p.stopping.err != nil {
		return
	}
	if !it.wanted() {
		p.out.remove(it)
		p.release(it)
		return
	}
	p.sendLater(it)
}

func (p *Pipeline) outcome(it *item, o *sdk.Outcome) {
	i := it.span(o.Stream, o.Run)
	switch o.Kind {
	case sdk.Durable:
		if st := p.byRun[o.Run]; st != nil {
			st.held.AddHeld(coverage.Interval{From: o.From, Next: o.Next})
		}
		p.sawDurable(it, i, it.durable(i, o.From, o.Next))
	case sdk.Rejected:
		p.rejected(o)
	case sdk.Fenced:
		st := p.byRun[o.Run]
		it.left[i] = nil
		if st != nil && st.epoch == it.batch.Spans[i].Epoch { // only a fence against the current epoch counts
			p.fenced(st, o.Reason)
		}
	}
}

// rejected: the gating sink refuses records for good, and with no audit sink
// they have no other home (requirement Q8).
func (p *Pipeline) rejected(o *sdk.Outcome) {
	if len(o.Rejected) == 0 {
		p.haltRecord(o.Stream, o.From, "the sink refuses it: "+o.Reason+"; repair that, or")
		return
	}
	r := o.Rejected[0]
	p.haltRecord(o.Stream, r.Position, "the sink refuses it: "+r.Reason+"; repair that, or")
}
