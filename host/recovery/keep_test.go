package recovery

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// takesAll is a secondary's writer that answers later.
type takesAll struct{ got []*sdk.Batch }

func (w *takesAll) Write(_ context.Context, b *sdk.Batch) error {
	w.got = append(w.got, b)
	return nil
}
func (*takesAll) Close(context.Context) error { return nil }

func replayedFrame(t *testing.T, s sdk.Stream, n int64) *sdk.Batch {
	var b frame.Builder
	k := b.Stream(s)
	for p := range n {
		b.Append(k, &frame.Record{Position: p, Value: []byte("v")})
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*n), Spans: []sdk.Span{{Stream: s, Next: n}}}
}

// A replayed frame that may be kept is not copied, and is given back once, when
// the last batch of it is settled; one that may not be kept is copied.
func TestReplayedFrameIsGivenBackOnce(t *testing.T) {
	s := sdk.Stream{Cluster: "c", Topic: "t"}
	for _, owned := range []bool{true, false} {
		w := &takesAll{}
		ses := &session{w: w, life: t.Context(), open: map[uint64]*sent{}, changed: make(chan struct{}, 1)}
		d := &delivery{
			r: New(Config{Lane: "copy", Budget: 1 << 20, Logger: slog.New(slog.DiscardHandler)}), ses: ses,
			w:    &sdk.RecoveryWindow{Window: sdk.Window{Stream: s, Next: 10}},
			todo: []coverage.Interval{{From: 1, Next: 3}, {From: 5, Next: 9}}, deadline: time.Now().Add(time.Minute),
		}
		b, freed := replayedFrame(t, s, 10), 0
		if owned {
			b.Free = func() { freed++ }
		}
		first := &b.Frame.Bytes()[0]
		if err := d.batch(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		b.Release() // as Replay does
		if len(w.got) != 2 || (&w.got[0].Frame.Bytes()[0] == first) != owned {
			t.Fatalf("owned %t: %d batches, or the wrong one was copied", owned, len(w.got))
		}
		answer := func(k int, kind sdk.OutcomeKind) {
			x := w.got[k].Spans[0]
			ses.receipt(sdk.Receipt{Seq: w.got[k].Seq, Outcomes: []sdk.Outcome{{Kind: kind, Stream: s, Run: x.Run, From: x.From, Next: x.Next}}})
		}
		answer(0, sdk.Durable)
		answer(1, sdk.Retryable)
		if freed != 0 {
			t.Error("given back while a part of it is to be sent again")
		}
		for _, again := range ses.takeRefused() {
			if err := ses.send(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		}
		answer(2, sdk.Rejected)
		if want := map[bool]int{true: 1, false: 0}[owned]; freed != want || ses.err != nil {
			t.Errorf("owned %t: given back %d times, want %d (%v)", owned, freed, want, ses.err)
		}
	}
}
