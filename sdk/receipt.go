package sdk

// Receipt is a sink's answer to one batch of one session. A batch may be
// answered by several receipts, in any order; each span of it gets exactly
// one final outcome (under granularity record: each part of a span).
type Receipt struct {
	Session  uint64
	Seq      uint64
	Outcomes []Outcome
}

// OutcomeKind is what became of a span.
type OutcomeKind uint8

const (
	// Durable: every row of the range is on stable storage, or was there
	// before, and will survive the loss of every process and of power.
	Durable OutcomeKind = iota + 1
	// Retryable: nothing of the range is durable; the host sends it again
	// under a new seq.
	Retryable
	// Rejected: the rows named in Rejected will never be accepted; every
	// other row of the range is durable.
	Rejected
	// Fenced: the span's epoch is not the stream's current one. The whole
	// transaction was rolled back; the other spans in it are Retryable.
	Fenced
	// Written: the sink has every row of the range and may lose it, until
	// Session.Flushed names its batch. Only of a sink that is not Durable: the
	// host's memory is free again, and nothing counts as held.
	Written
)

func (k OutcomeKind) String() string {
	switch k {
	case Durable:
		return "durable"
	case Retryable:
		return "retryable"
	case Rejected:
		return "rejected"
	case Fenced:
		return "fenced"
	case Written:
		return "written"
	}
	return "unknown outcome"
}

// Outcome answers the range [From, Next) of a span that was sent.
type Outcome struct {
	Stream Stream
	Run    uint64
	From   int64
	Next   int64
	Kind   OutcomeKind
	// Rejected lists the refused rows; only with kind Rejected.
	Rejected []RejectedRow
	// Reason says why, for every kind but Durable.
	Reason string
}

// RejectedRow is a record that the sink refuses for good.
type RejectedRow struct {
	Position int64
	Reason   string
}

// AllDurable is the receipt that answers every span of b with Durable.
func AllDurable(session uint64, b *Batch) Receipt { return AllOutcome(session, b, Durable, "") }

// AllOutcome is the receipt that answers every span of b alike.
func AllOutcome(session uint64, b *Batch, kind OutcomeKind, reason string) Receipt {
	r := Receipt{Session: session, Seq: b.Seq, Outcomes: make([]Outcome, len(b.Spans))}
	for i, s := range b.Spans {
		r.Outcomes[i] = Outcome{Stream: s.Stream, Run: s.Run, From: s.From, Next: s.Next, Kind: kind, Reason: reason}
	}
	return r
}
