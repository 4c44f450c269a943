package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// placed is an outcome with the index of its span in the batch.
type placed struct {
	span int
	sdk.Outcome
}

// place finds the span that each outcome answers. spans is read-only but for
// what answer changes, so that no lock is needed.
func place(seq uint64, spans []pending, outcomes []sdk.Outcome) ([]placed, error) {
	out := make([]placed, len(outcomes))
	for i, o := range outcomes {
		at, err := placeOne(seq, spans, i, o)
		if err != nil {
			return nil, err
		}
		out[i] = placed{at, o}
		if err := checkOutcome(seq, out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// placeOne tries the outcome's own index first: sinks mostly answer in order.
func placeOne(seq uint64, spans []pending, i int, o sdk.Outcome) (int, error) {
	if i < len(spans) && answers(o, spans[i].Span) {
		return i, nil
	}
	for k := range spans {
		if answers(o, spans[k].Span) {
			return k, nil
		}
	}
	return 0, violation("batch %d has no span of %s, run %d, that holds [%d,%d)", seq, o.Stream, o.Run, o.From, o.Next)
}

func answers(o sdk.Outcome, s sdk.Span) bool {
	return o.Stream == s.Stream && o.Run == s.Run && within(o, s)
}

// within: an outcome is its whole span or a part that is not empty.
func within(o sdk.Outcome, s sdk.Span) bool {
	return o.From == s.From && o.Next == s.Next || o.From >= s.From && o.From < o.Next && o.Next <= s.Next
}

func checkOutcome(seq uint64, o placed) error {
	if o.Kind < sdk.Durable || o.Kind > sdk.Written {
		return violation("batch %d: outcome %d of %s is not known", seq, o.Kind, o.Stream)
	}
	if (o.Kind == sdk.Rejected) != (len(o.Rejected) > 0) {
		return violation("batch %d: the outcome of %s is %s and names %d rejected rows", seq, o.Stream, o.Kind, len(o.Rejected))
	}
	for _, r := range o.Rejected {
		if r.Position < o.From || r.Position >= o.Next {
			return violation("batch %d: the rejected position %d is not in [%d,%d) of %s", seq, r.Position, o.From, o.Next, o.Stream)
		}
	}
	return nil
}

func toReceipt(session, seq uint64, spans []pending, outcomes []placed) *twgpb.Receipt {
	return &twgpb.Receipt{Session: session, Seq: seq, Outcomes: each(outcomes, func(o placed) *twgpb.Outcome {
		out := &twgpb.Outcome{Span: uint32(o.span), Kind: twgpb.OutcomeKind(o.Kind), Reason: text(o.Reason), Rejected: each(o.Rejected, toRejected)}
		if s := spans[o.span]; o.From != s.From || o.Next != s.Next {
			out.From, out.Next = o.From, o.Next
		}
		return out
	})}
}

func toRejected(r sdk.RejectedRow) *twgpb.RejectedRow {
	return &twgpb.RejectedRow{Position: r.Position, Reason: text(r.Reason), Kind: twgpb.ErrorKind_ERROR_KIND_REJECTED}
}

// fromReceipt places a receipt's outcomes on the spans of the batch.
func fromReceipt(r *twgpb.Receipt, spans []pending) ([]placed, error) {
	return eachErr(r.Outcomes, func(o *twgpb.Outcome) (placed, error) {
		if int(o.GetSpan()) >= len(spans) {
			return placed{}, violation("batch %d has %d spans, its receipt answers span %d", r.Seq, len(spans), o.GetSpan())
		}
		s := spans[o.Span].Span
		out := placed{int(o.Span), sdk.Outcome{Stream: s.Stream, Run: s.Run, From: o.From, Next: o.Next, Kind: sdk.OutcomeKind(o.Kind), Reason: o.Reason,
			Rejected: each(o.Rejected, fromRejected)}}
		if o.From == 0 && o.Next == 0 {
			out.From, out.Next = s.From, s.Next
		}
		if !within(out.Outcome, s) {
			return out, violation("batch %d: the outcome of [%d,%d) does not lie in the span [%d,%d) of %s", r.Seq, o.From, o.Next, s.From, s.Next, s.Stream)
		}
		return out, checkOutcome(r.Seq, out)
	})
}

func fromRejected(r *twgpb.RejectedRow) sdk.RejectedRow {
	return sdk.RejectedRow{Position: r.GetPosition(), Reason: r.GetReason()}
}
