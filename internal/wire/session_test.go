package wire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// stepSink lets a test decide when Write returns and what is answered.
type stepSink struct {
	describedPlugin
	opened chan sdk.Session
	writes chan *sdk.Batch
	goOn   chan struct{}
	closed chan error    // what Close's context said
	hold   chan struct{} // Close waits for it, if it is there
}

func newStepSink() *stepSink {
	return &stepSink{describedPlugin{kind: sdk.KindSink}, make(chan sdk.Session, 1), make(chan *sdk.Batch, 1000), make(chan struct{}, 1000), make(chan error, 10), nil}
}

func (s *stepSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	s.opened <- ses
	return s, nil
}

func (s *stepSink) Write(ctx context.Context, b *sdk.Batch) error {
	s.writes <- b
	select {
	case <-s.goOn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Flush lets a Write that waits go on: a file was closed.
func (s *stepSink) Flush(context.Context, uint64) error { s.goOn <- struct{}{}; return nil }

func (s *stepSink) Close(ctx context.Context) error {
	if s.hold != nil {
		<-s.hold
	}
	s.closed <- ctx.Err()
	return nil
}

func openStep(t *testing.T, s *stepSink, g sdk.Granularity) (sdk.Writer, sdk.Session, chan sdk.Receipt, chan error) {
	t.Helper()
	ses, receipts, failed := sessionFor(1)
	ses.Granularity = g
	w, err := clientOf(t, s).Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(ended()) })
	return w, receive(t, s.opened, "open"), receipts, failed
}

func numbered(t *testing.T, seq uint64, size int) *sdk.Batch {
	b := batchOf(t, orders, int64(seq), 1, size)
	b.Seq = seq
	return b
}

// A sink that has no room holds the host back by credit alone, and the host's
// Flush gets through to it.
func TestWriteBlocksWithoutCreditAndFlushGetsThrough(t *testing.T) {
	s := newStepSink()
	w, _, _, _ := openStep(t, s, sdk.GranularityBatch)
	wrote := make(chan uint64, 1000)
	const all = sinkCreditBatches + 1
	go func() {
		for seq := uint64(1); seq <= all; seq++ {
			if w.Write(t.Context(), numbered(t, seq, 10)) != nil {
				return
			}
			wrote <- seq
		}
	}()
	for range sinkCreditBatches {
		receive(t, wrote, "write")
	}
	receive(t, s.writes, "first batch") // and there it waits
	if len(wrote)+len(s.writes) > 0 {
		t.Fatal("more batches were taken than there was credit for")
	}
	if err := w.(sdk.Flusher).Flush(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if seq := receive(t, wrote, "write after a flush"); seq != all {
		t.Errorf("wrote %d", seq)
	}
}

func TestPartsAreAnsweredUnderGranularityRecord(t *testing.T) {
	s := newStepSink()
	w, at, receipts, _ := openStep(t, s, sdk.GranularityRecord)
	if at.Granularity != sdk.GranularityRecord || at.ID != 1 || at.Pipeline != "p" || at.Owner != "o" || at.Limits != sdk.DefaultLimits {
		t.Errorf("session %+v", at)
	}
	b := batchOf(t, orders, 0, 4, 10)
	b.Seq = 1
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	receive(t, s.writes, "batch")
	part := func(from, next int64, kind sdk.OutcomeKind, rejected ...sdk.RejectedRow) sdk.Outcome {
		return sdk.Outcome{Stream: orders, Run: 7, From: from, Next: next, Kind: kind, Rejected: rejected}
	}
	for _, o := range []sdk.Outcome{part(2, 3, sdk.Rejected, sdk.RejectedRow{Position: 2, Reason: "too long"}), part(0, 2, sdk.Durable), part(3, 4, sdk.Retryable)} {
		at.Report(sdk.Receipt{Session: 1, Seq: 1, Outcomes: []sdk.Outcome{o}}) // before Write has returned
		got := receive(t, receipts, "receipt").Outcomes[0]
		if got.From != o.From || got.Next != o.Next || got.Kind != o.Kind || len(got.Rejected) != len(o.Rejected) {
			t.Errorf("sent %+v, got %+v", o, got)
		}
	}
}

func TestCloseAnswersWhatWasAccepted(t *testing.T) {
	c := clientOf(t, holdingCloser{describedPlugin{kind: sdk.KindSink}})
	ses, receipts, _ := sessionFor(1)
	w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= 20; seq++ {
		if err := w.Write(t.Context(), numbered(t, seq, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(receipts) != 20 {
		t.Errorf("%d receipts, want 20", len(receipts))
	}
	if err := w.Write(t.Context(), numbered(t, 21, 10)); err == nil {
		t.Error("a closed session takes batches")
	}
}

// holdingCloser answers everything at Close.
type holdingCloser struct{ describedPlugin }

type closingWriter struct {
	ses  sdk.Session
	held []*sdk.Batch
}

func (s holdingCloser) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	return &closingWriter{ses: ses}, nil
}

func (w *closingWriter) Write(_ context.Context, b *sdk.Batch) error {
	w.held = append(w.held, b)
	return nil
}

func (w *closingWriter) Close(ctx context.Context) error {
	for _, b := range w.held {
		w.ses.Report(sdk.AllDurable(w.ses.ID, b))
	}
	return ctx.Err()
}

// A host that goes away without Stop: the sink is closed with a context that
// has ended, and only then does the next session open.
func TestASessionIsSettledBeforeTheNextOpens(t *testing.T) {
	s := newStepSink()
	s.hold = make(chan struct{})
	c := clientOf(t, s)
	open := func(id uint64) (sdk.Writer, error) {
		ses, _, _ := sessionFor(id)
		return c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	}
	first, err := open(1)
	if err != nil {
		t.Fatal(err)
	}
	receive(t, s.opened, "open")
	if err := first.Write(t.Context(), numbered(t, 1, 10)); err != nil {
		t.Fatal(err)
	}
	receive(t, s.writes, "batch")
	if err := first.Close(ended()); !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	seconds := make(chan sdk.Writer, 1)
	go func() {
		w, err := open(2)
		if err != nil {
			t.Error(err)
		}
		seconds <- w
	}()
	silent(t, s.opened, "the second session opened before the first was settled")
	close(s.hold)
	if err := receive(t, s.closed, "settled session"); !errors.Is(err, context.Canceled) {
		t.Errorf("settled with a context that says %v", err)
	}
	if err := receive(t, seconds, "second session").Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, s.closed, "close"); err != nil {
		t.Errorf("closed with a context that says %v", err)
	}
}

// Stop's deadline holds for a Write that hangs.
func TestCloseIsBoundedByItsContext(t *testing.T) {
	s := newStepSink()
	s2 := struct{ *stepSinkNoFlush }{&stepSinkNoFlush{s}}
	ses, _, _ := sessionFor(1)
	w, err := clientOf(t, s2).Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), numbered(t, 1, 10)); err != nil {
		t.Fatal(err)
	}
	receive(t, s.writes, "batch")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 1, errors.New("enough"))
	defer cancel()
	if err := w.Close(ctx); err == nil {
		t.Error("a Write that hangs was closed in good order")
	}
	if err := receive(t, s.closed, "close"); err == nil {
		t.Error("the sink was closed with a live context")
	}
}

// stepSinkNoFlush is a stepSink whose Writer is no Flusher.
type stepSinkNoFlush struct{ s *stepSink }

func (n *stepSinkNoFlush) Describe() sdk.Description { return n.s.Describe() }
func (n *stepSinkNoFlush) Configure(set sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return n.s.Configure(set)
}

func (n *stepSinkNoFlush) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	w, err := n.s.Open(ctx, ses)
	return struct{ sdk.Writer }{w}, err
}

func TestASinkMayFailByItself(t *testing.T) {
	s := newStepSink()
	_, at, _, failed := openStep(t, s, sdk.GranularityBatch)
	at.Fail(sdk.Errorf(sdk.KindFenced, "lock directory", "another host has it"))
	at.Fail(errors.New("a second thought"))
	if err := receive(t, failed, "failure"); sdk.KindOf(err) != sdk.KindFenced || !strings.Contains(err.Error(), "another host") {
		t.Errorf("got %v", err)
	}
}
