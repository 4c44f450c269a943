package wire

import (
	"context"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// holdingSink answers nothing before Flush, and forgets a Flush that comes
// before its batch.
type holdingSink struct{ describedPlugin }

type holdingWriter struct {
	ses  sdk.Session
	held chan []*sdk.Batch // its one element is what is held
}

func (s holdingSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	w := &holdingWriter{ses: ses, held: make(chan []*sdk.Batch, 1)}
	w.held <- nil
	return w, nil
}

func (w *holdingWriter) Write(_ context.Context, b *sdk.Batch) error {
	w.held <- append(<-w.held, b)
	return nil
}

func (w *holdingWriter) Flush(_ context.Context, seq uint64) error {
	var rest []*sdk.Batch
	for _, b := range <-w.held {
		if b.Seq > seq {
			rest = append(rest, b)
			continue
		}
		w.ses.Report(sdk.AllDurable(w.ses.ID, b))
	}
	w.held <- rest
	return nil
}

func (w *holdingWriter) Close(context.Context) error { return nil }

// The host's Flush runs beside its Write, and can overtake it.
func TestAFlushThatComesBeforeItsBatchesIsNotLost(t *testing.T) {
	c := clientOf(t, holdingSink{describedPlugin{kind: sdk.KindSink}})
	ses, receipts, _ := sessionFor(1)
	w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(ended()) })
	if err := w.(sdk.Flusher).Flush(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(3) {
		b := batchOf(t, orders, int64(seq), 1, 10)
		b.Seq = seq + 1
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for seq := range uint64(3) {
		if r := receive(t, receipts, "receipt"); r.Seq != seq+1 {
			t.Fatalf("receipt of batch %d, want %d", r.Seq, seq+1)
		}
	}
}
