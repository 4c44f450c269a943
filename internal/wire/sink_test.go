package wire

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// describedPlugin is the part of a fake that no test looks at.
type describedPlugin struct {
	kind sdk.PluginKind
	caps sdk.Capabilities
}

func (p describedPlugin) Describe() sdk.Description {
	return sdk.Description{Name: "fake", Version: "1", Kind: p.kind}
}

func (p describedPlugin) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return p.caps, nil
}

func sinkThat(write func(context.Context, *sdk.Batch) (sdk.Receipt, error)) sdk.Sink {
	return sdk.Sync(describedPlugin{kind: sdk.KindSink}, write)
}

// sessionFor makes a host's session whose receipts and failure are channels.
func sessionFor(id uint64) (sdk.Session, chan sdk.Receipt, chan error) {
	receipts, failed := make(chan sdk.Receipt, 1000), make(chan error, 1)
	return sdk.Session{ID: id, Pipeline: "p", Owner: "o", Limits: sdk.DefaultLimits,
		Report: func(r sdk.Receipt) { receipts <- r }, Fail: func(err error) { failed <- err }}, receipts, failed
}

func TestBatchesAreWrittenAndAnswered(t *testing.T) {
	got := make(chan *sdk.Batch, 10)
	sink := sinkThat(func(_ context.Context, b *sdk.Batch) (sdk.Receipt, error) {
		c := *b
		c.IDs = bytes.Clone(b.IDs)
		got <- &c
		return sdk.AllDurable(0, b), nil
	})
	c := clientOf(t, sink)
	ses, receipts, _ := sessionFor(42)
	w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	for seq, b := range []*sdk.Batch{batchOf(t, orders, 0, 10, 100), batchOf(t, people, 5, 1, 5<<20), batchOf(t, orders, 10, 1000, 5<<10), {Spans: []sdk.Span{{Stream: orders, From: 1010, Next: 1020}}}} {
		b.Seq = uint64(seq + 1)
		if err := w.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		r := receive(t, receipts, "receipt")
		want := sdk.Outcome{Stream: b.Spans[0].Stream, Run: b.Spans[0].Run, From: b.Spans[0].From, Next: b.Spans[0].Next, Kind: sdk.Durable}
		if r.Session != 42 || r.Seq != b.Seq || len(r.Outcomes) != 1 || r.Outcomes[0].Kind != want.Kind || r.Outcomes[0].Stream != want.Stream || r.Outcomes[0].Next != want.Next {
			t.Fatalf("receipt %+v, want outcome %+v", r, want)
		}
		g := receive(t, got, "batch")
		if len(g.Spans) != 1 || g.Spans[0] != b.Spans[0] || records(g.Frame) != records(b.Frame) || !bytes.Equal(g.IDs, b.IDs) {
			t.Fatalf("batch %d came as %+v", b.Seq, g)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAnErrorOfWriteEndsTheSessionWithItsKind(t *testing.T) {
	c := clientOf(t, sinkThat(func(context.Context, *sdk.Batch) (sdk.Receipt, error) {
		return sdk.Receipt{}, sdk.Errorf(sdk.KindFatal, "open log", "the disk is gone")
	}))
	ses, _, failed := sessionFor(1)
	w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	b := batchOf(t, orders, 0, 1, 1)
	b.Seq = 1
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	err = receive(t, failed, "failure")
	e, ok := errors.AsType[*sdk.Error](err)
	if !ok || e.Kind != sdk.KindFatal || e.Op != "open log" || e.Scope != sdk.ScopeSession || e.Err.Error() != "the disk is gone" {
		t.Fatalf("got %#v", err)
	}
	if err := w.Write(t.Context(), b); err == nil {
		t.Fatal("a failed session takes batches")
	}
}
