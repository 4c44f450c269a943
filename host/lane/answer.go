package lane

import (
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// receipt takes a sink's answer. What it is of has one answer a span; anything
// else breaks the protocol, and nothing of it counts.
func (l *Lane) receipt(ses *session, r sdk.Receipt) {
	faultpoint.Hit("secondary-receipt")
	l.mu.Lock()
	defer l.mu.Unlock()
	p := ses.sent[r.Seq]
	if p == nil {
		ses.fail(broke("a receipt for batch %d, which is not open", r.Seq))
		return
	}
	spans := make([]int, len(r.Outcomes))
	asked := slices.Clone(p.asked)
	for k, o := range r.Outcomes {
		i := p.find(&o)
		if i < 0 || !asked[i] {
			ses.fail(broke("a receipt for [%d,%d) of %s in batch %d, which is not open there", o.From, o.Next, o.Stream, r.Seq))
			return
		}
		spans[k], asked[i] = i, false
	}
	p.asked = asked
	for k := range r.Outcomes {
		l.outcome(ses, p, spans[k], &r.Outcomes[k], r.Seq)
	}
	if slices.Contains(p.asked, true) {
		return // its other spans are answered later
	}
	delete(ses.sent, r.Seq)
	if r.Seq > ses.flushed && !l.cfg.DurableFlush { // it was answered without being asked
		ses.pending -= p.batch.Bytes()
	}
	l.cfg.Answered(time.Since(p.at))
	if !l.free(p) {
		l.again(p)
	}
}

// find returns the span that o answers, or -1.
func (p *piece) find(o *sdk.Outcome) int {
	return slices.IndexFunc(p.batch.Spans, func(s sdk.Span) bool {
		return s.Stream == o.Stream && s.Run == o.Run && s.From == o.From && s.Next == o.Next
	})
}

// outcome settles a span, unless it was refused for now. l.mu is held.
func (l *Lane) outcome(ses *session, p *piece, i int, o *sdk.Outcome, seq uint64) {
	rows := int64(p.rows[i].To - p.rows[i].From)
	switch o.Kind {
	case sdk.Durable, sdk.Written:
		l.stat.Delivered += rows
		l.settle(ses, seq, o, rows, nil)
	case sdk.Rejected:
		n := l.settle(ses, seq, o, rows, rejected(o))
		l.stat.SetAside += n
		l.stat.Delivered += max(rows-n, 0)
		l.log.Warn("the secondary refuses records for good; they are set aside", "stream", o.Stream.String(), "records", n, "reason", o.Reason)
	default: // refused: nothing of it is there
		return
	}
	p.open[i] = false
	wake(l.wakeRecorder)
}

// rejected are the positions that a sink refuses for good: all of the span if
// it names none.
func rejected(o *sdk.Outcome) []coverage.Interval {
	if len(o.Rejected) == 0 {
		return []coverage.Interval{{From: o.From, Next: o.Next}}
	}
	out := make([]coverage.Interval, len(o.Rejected))
	for i, r := range o.Rejected {
		out[i] = coverage.Interval{From: r.Position, Next: r.Position + 1}
	}
	return out
}

// settle notes that the sink has everything of span but what is aside, and
// returns how many positions are aside. If its receipts promise nothing, that
// is held only once it has been flushed. l.mu is held.
func (l *Lane) settle(ses *session, seq uint64, o *sdk.Outcome, rows int64, aside []coverage.Interval) (n int64) {
	st, span := l.stream(o.Stream), coverage.Interval{From: o.From, Next: o.Next}
	var not coverage.Set
	for _, i := range aside {
		i = coverage.Interval{From: max(i.From, span.From), Next: min(i.Next, span.Next)}
		not.AddHeld(i)
	}
	for _, i := range not.Held() {
		n += i.Next - i.From
	}
	st.aside = append(st.aside, not.Held()...)
	held := not.Missing(span)
	switch {
	case !l.cfg.DurableFlush:
		st.held = append(st.held, held...)
	case len(held) > 0:
		ses.written = append(ses.written, writtenSpan{seq, o.Stream, held, max(rows-n, 0)})
		wake(l.wakeFlusher)
	}
	return n
}

// again sends what was refused once more, after a pause, or gives it up: only
// a refused write may be given up, an unanswered one may have landed. Recovery
// sends it again. l.mu is held.
func (l *Lane) again(p *piece) {
	p.attempts++
	if p.attempts >= l.cfg.Attempts {
		for i := range p.open {
			if p.open[i] {
				l.stat.GivenUp += int64(p.rows[i].To - p.rows[i].From)
				p.open[i] = false
			}
		}
		l.log.Warn("a batch was refused again and again; recovery will send it", "attempts", p.attempts)
		l.free(p)
		wake(l.wakeRecorder)
		return
	}
	l.later[p] = struct{}{}
	time.AfterFunc(backoff(p.attempts), func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed {
			return
		}
		delete(l.later, p)
		l.queue = append(l.queue, p)
		l.dropQueued()
		wake(l.wakeWriter)
	})
}

func broke(format string, args ...any) error {
	return sdk.Errorf(sdk.KindRetryable, "talk to the sink", "the sink broke the protocol: %w", fmt.Errorf(format, args...))
}
