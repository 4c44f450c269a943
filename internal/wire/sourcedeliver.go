package wire

import (
	"context"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// deliver puts an event into the inbox it belongs to. What must stay behind
// the batches before it (Gap, Ended) goes with the batches.
func (s *sourceSession) deliver(m *twgpb.SourceEvent) error {
	switch e := m.Msg.(type) {
	case *twgpb.SourceEvent_Batch:
		return s.batch(e.Batch)
	case *twgpb.SourceEvent_Gap:
		g, err := fromGap(e.Gap)
		if err != nil {
			return err
		}
		return s.data.put(func(context.Context) error { s.ev.Gap(g); return nil })
	case *twgpb.SourceEvent_Ended:
		return s.data.put(func(context.Context) error { s.ev.Ended(e.Ended.GetRuns()); return nil })
	case *twgpb.SourceEvent_Assigned:
		a, err := eachErr(e.Assigned.GetStreams(), fromAssignment)
		if err != nil {
			return err
		}
		return s.control.put(func(ctx context.Context) error { return s.ev.Assigned(ctx, a) })
	case *twgpb.SourceEvent_Revoking:
		return s.revoking(e.Revoking)
	case *twgpb.SourceEvent_Lost:
		return s.control.put(func(context.Context) error { s.ev.Lost(e.Lost.GetRuns()); return nil })
	case *twgpb.SourceEvent_Lag:
		return s.lag(e.Lag)
	}
	return violation("an event of a kind that was not agreed on")
}

// lag hands on where streams end, and what became of topics.
func (s *sourceSession) lag(m *twgpb.Lag) error {
	l, err := eachErr(m.GetStreams(), fromLag)
	if err != nil {
		return err
	}
	return s.control.put(func(context.Context) error {
		if t := m.GetTopics(); t != nil {
			s.ev.Topics(each(t.GetTopics(), fromTopic))
		}
		if len(l) > 0 {
			s.ev.Lag(l)
		}
		return nil
	})
}

func (s *sourceSession) batch(m *twgpb.SourceBatch) error {
	b, err := fromSourceBatch(m)
	if err != nil {
		return err
	}
	if len(b.Spans) == 0 {
		return violation("a batch without spans")
	}
	if !s.credit.spend(b.Bytes()) {
		return violation("a batch of %d bytes was sent without credit", b.Bytes())
	}
	return s.data.put(func(ctx context.Context) error { return s.ev.Batch(ctx, b) })
}

// revoking lets the host end runs while other events are still handed on. If
// it returns without having dropped all of them (they may have ended before),
// the source is told that they are over.
func (s *sourceSession) revoking(m *twgpb.Revoking) error {
	runs := m.GetRuns()
	deadline := time.Now().Add(time.Duration(max(m.GetDeadlineMs(), 0)) * time.Millisecond)
	v := s.revoke.begin(runs)
	return s.control.put(func(context.Context) error {
		s.run(func() error {
			defer s.revoke.end(v)
			if err := s.ev.Revoking(s.ctx, runs, deadline); err != nil {
				return nil // the source goes on at the deadline
			}
			if rest := s.revoke.left(v); len(rest) > 0 {
				s.Drop(s.ctx, rest)
			}
			return nil
		})
		return nil
	})
}

var _ sdk.CreditGranter = (*sourceSession)(nil)
