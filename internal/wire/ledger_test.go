package wire

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func outcome(span uint32, from, next int64) *twgpb.Outcome {
	return &twgpb.Outcome{Span: span, From: from, Next: next, Kind: twgpb.OutcomeKind_OUTCOME_KIND_DURABLE}
}

// settles plays receipts against batch 1 with the spans orders [0,10) and
// people [5,5) and returns the first refusal.
func settles(g sdk.Granularity, receipts ...*twgpb.Receipt) error {
	l := newLedger(g)
	b := &sdk.Batch{Seq: 1, Spans: []sdk.Span{{Stream: orders, Next: 10, Run: 1}, {Stream: people, From: 5, Next: 5, Run: 2}}}
	if _, err := l.add(b, nil); err != nil {
		return err
	}
	for _, r := range receipts {
		spans, err := l.find(r.Seq)
		if err != nil {
			return err
		}
		outcomes, err := fromReceipt(r, spans)
		if err != nil {
			return err
		}
		if _, err := l.answer(r.Seq, outcomes); err != nil {
			return err
		}
	}
	return nil
}

func receipt(seq uint64, o ...*twgpb.Outcome) *twgpb.Receipt {
	return &twgpb.Receipt{Session: 1, Seq: seq, Outcomes: o}
}

func TestReceiptsAreChecked(t *testing.T) {
	rejected := func(kind twgpb.OutcomeKind, positions ...int64) *twgpb.Outcome {
		o := &twgpb.Outcome{Kind: kind}
		for _, p := range positions {
			o.Rejected = append(o.Rejected, &twgpb.RejectedRow{Position: p})
		}
		return o
	}
	tests := []struct {
		name     string
		parts    bool
		receipts []*twgpb.Receipt
		want     string // empty: accepted
	}{
		{"whole", false, []*twgpb.Receipt{receipt(1, outcome(0, 0, 0), outcome(1, 0, 0))}, ""},
		{"apart, backwards", false, []*twgpb.Receipt{receipt(1, outcome(1, 5, 5)), receipt(1, outcome(0, 0, 10))}, ""},
		{"parts", true, []*twgpb.Receipt{receipt(1, outcome(0, 5, 10)), receipt(1, outcome(0, 0, 5), outcome(1, 0, 0))}, ""},
		{"rejected row", false, []*twgpb.Receipt{receipt(1, rejected(twgpb.OutcomeKind_OUTCOME_KIND_REJECTED, 9))}, ""},
		{"never sent", false, []*twgpb.Receipt{receipt(2, outcome(0, 0, 0))}, "never sent"},
		{"seq 0", false, []*twgpb.Receipt{receipt(0)}, "never sent"},
		{"twice", false, []*twgpb.Receipt{receipt(1, outcome(0, 0, 0)), receipt(1, outcome(0, 0, 0))}, "second outcome"},
		{"twice in one", false, []*twgpb.Receipt{receipt(1, outcome(0, 0, 0), outcome(0, 0, 0))}, "second outcome"},
		{"twice, empty span", false, []*twgpb.Receipt{receipt(1, outcome(1, 0, 0), outcome(1, 0, 0))}, "second outcome"},
		{"after the last", false, []*twgpb.Receipt{receipt(1, outcome(0, 0, 0), outcome(1, 0, 0)), receipt(1, outcome(0, 0, 0))}, "answered again"},
		{"no such span", false, []*twgpb.Receipt{receipt(1, outcome(2, 0, 0))}, "answers span 2"},
		{"outside the span", true, []*twgpb.Receipt{receipt(1, outcome(0, 5, 11))}, "does not lie in"},
		{"empty part", true, []*twgpb.Receipt{receipt(1, outcome(0, 5, 5))}, "does not lie in"},
		{"part under batch", false, []*twgpb.Receipt{receipt(1, outcome(0, 5, 10))}, "need granularity record"},
		{"overlapping parts", true, []*twgpb.Receipt{receipt(1, outcome(0, 5, 10)), receipt(1, outcome(0, 4, 6))}, "second outcome"},
		{"part, then whole", true, []*twgpb.Receipt{receipt(1, outcome(0, 5, 10)), receipt(1, outcome(0, 0, 0))}, "second outcome"},
		{"unknown outcome", false, []*twgpb.Receipt{receipt(1, rejected(9))}, "not known"},
		{"no outcome", false, []*twgpb.Receipt{receipt(1, rejected(0))}, "not known"},
		{"rejects nothing", false, []*twgpb.Receipt{receipt(1, rejected(twgpb.OutcomeKind_OUTCOME_KIND_REJECTED))}, "names 0 rejected"},
		{"durable, with rejects", false, []*twgpb.Receipt{receipt(1, rejected(twgpb.OutcomeKind_OUTCOME_KIND_DURABLE, 3))}, "names 1 rejected"},
		{"rejects what is elsewhere", false, []*twgpb.Receipt{receipt(1, rejected(twgpb.OutcomeKind_OUTCOME_KIND_REJECTED, 10))}, "not in [0,10)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := sdk.GranularityBatch
			if tt.parts {
				g = sdk.GranularityRecord
			}
			err := settles(g, tt.receipts...)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want a protocol error with %q", err, tt.want)
			}
		})
	}
}

func TestSeqsAscend(t *testing.T) {
	l := newLedger(sdk.GranularityBatch)
	spans := []sdk.Span{{Stream: orders, Next: 1}}
	for _, tt := range []struct {
		seq uint64
		ok  bool
	}{{1, true}, {2, true}, {2, false}, {1, false}, {0, false}, {9, true}} {
		if _, err := l.add(&sdk.Batch{Seq: tt.seq, Spans: spans}, nil); (err == nil) != tt.ok {
			t.Errorf("batch %d: %v", tt.seq, err)
		}
	}
	if _, err := l.add(&sdk.Batch{Seq: 10}, nil); err == nil {
		t.Error("a batch without spans was taken")
	}
	if l.oldest() != 1 || l.newest() != 9 {
		t.Errorf("oldest %d, newest %d", l.oldest(), l.newest())
	}
}

// The ledger against a dumb model: one flag a position.
func TestLedgerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 12
		l := newLedger(sdk.GranularityRecord)
		answered := map[uint64]*[size]bool{}
		left := map[uint64]int{}
		var last uint64
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "send") {
				last++
				if _, err := l.add(&sdk.Batch{Seq: last, Spans: []sdk.Span{{Stream: orders, Next: size}}}, nil); err != nil {
					t.Fatal(err)
				}
				answered[last], left[last] = &[size]bool{}, size
				continue
			}
			seq := rapid.Uint64Range(0, last+1).Draw(t, "seq")
			from := rapid.Int64Range(0, size-1).Draw(t, "from")
			next := rapid.Int64Range(from+1, size).Draw(t, "next")
			ok := left[seq] > 0
			for p := from; ok && p < next; p++ {
				ok = !answered[seq][p]
			}
			e, err := l.answer(seq, []placed{{0, sdk.Outcome{Stream: orders, From: from, Next: next, Kind: sdk.Durable}}})
			if (err == nil) != ok {
				t.Fatalf("batch %d, [%d,%d): %v, the model says %v", seq, from, next, err, ok)
			}
			if !ok {
				continue
			}
			for p := from; p < next; p++ {
				answered[seq][p] = true
				left[seq]--
			}
			if (e != nil) != (left[seq] == 0) {
				t.Fatalf("batch %d is complete: %v, the model has %d left", seq, e != nil, left[seq])
			}
		}
	})
}
