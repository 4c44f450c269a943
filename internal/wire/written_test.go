package wire

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// softSink answers with written, and flushes when it is asked to.
type softSink struct {
	describedPlugin
	flushed func(w *softWriter, seq uint64) // nil: says what is true
}

type softWriter struct {
	s   softSink
	ses sdk.Session
}

func (s softSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{DurableFlush: true}, nil
}

func (s softSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	return &softWriter{s, ses}, nil
}

func (w *softWriter) Write(_ context.Context, b *sdk.Batch) error {
	w.ses.Report(sdk.AllOutcome(w.ses.ID, b, sdk.Written, ""))
	return nil
}

func (w *softWriter) Flush(_ context.Context, seq uint64) error {
	if w.s.flushed != nil {
		w.s.flushed(w, seq)
		return nil
	}
	w.ses.Flushed(seq)
	return nil
}

func (w *softWriter) Close(context.Context) error { return nil }

// configured is a client whose plugin was given settings, as a host does.
func configured(t *testing.T, p sdk.Plugin) (*Client, sdk.Capabilities) {
	t.Helper()
	c := clientOf(t, p)
	caps, diags, err := c.Configure(t.Context(), sdk.NewSettings([]byte(`{}`)))
	if err != nil || diags.HasErrors() {
		t.Fatal(err, diags)
	}
	return c, caps
}

func TestWrittenBecomesDurableWithFlushed(t *testing.T) {
	c, caps := configured(t, softSink{describedPlugin: describedPlugin{kind: sdk.KindSink}})
	if !caps.DurableFlush || !caps.FlushesLater() {
		t.Fatalf("capabilities %+v", caps)
	}
	ses, receipts, _ := sessionFor(1)
	flushed := make(chan uint64, 10)
	ses.Flushed = func(seq uint64) { flushed <- seq }
	w, err := c.Sink(caps).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(ended()) })
	b := batchOf(t, orders, 0, 3, 10)
	b.Seq = 1
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if r := receive(t, receipts, "receipt"); r.Outcomes[0].Kind != sdk.Written {
		t.Fatalf("the outcome is %s, want written", r.Outcomes[0].Kind)
	}
	silent(t, flushed, "Flushed before anybody asked")
	if err := w.(sdk.Flusher).Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if seq := receive(t, flushed, "Flushed"); seq != 1 {
		t.Fatalf("Flushed names %d, want 1", seq)
	}
}

// A host that does not know the feature gets what it always got.
func TestAHostThatDoesNotKnowWritten(t *testing.T) {
	c := clientOf(t, softSink{describedPlugin: describedPlugin{kind: sdk.KindSink}})
	r, err := twgpb.NewPluginClient(c.conn).Configure(t.Context(), &twgpb.ConfigureRequest{Settings: []byte(`{}`), Features: []string{"of a later version"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Capabilities.DurableFlush || len(r.Features) > 0 {
		t.Fatalf("the plugin agrees to %v, durable_flush is %t", r.Features, r.Capabilities.DurableFlush)
	}
	ses, receipts, failed := sessionFor(1)
	w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(ended()) })
	b := batchOf(t, orders, 0, 3, 10)
	b.Seq = 1
	if err := w.Write(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if r := receive(t, receipts, "receipt"); r.Outcomes[0].Kind != sdk.Durable {
		t.Fatalf("the outcome is %s", r.Outcomes[0].Kind)
	}
	if err := w.(sdk.Flusher).Flush(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	silent(t, failed, "the session failed: Flushed was sent to a host that does not know it")
}

// What a plugin's own side refuses to send.
func TestASinkThatFlushesWhatItHasNotAnswered(t *testing.T) {
	tests := map[string]struct {
		say  func(w *softWriter, seq uint64)
		want string
	}{
		"never sent": {func(w *softWriter, seq uint64) { w.ses.Flushed(seq + 1) }, "never sent"},
		"falls":      {func(w *softWriter, seq uint64) { w.ses.Flushed(seq); w.ses.Flushed(seq - 1) }, "after batch"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, caps := configured(t, softSink{describedPlugin{kind: sdk.KindSink}, tt.say})
			ses, receipts, failed := sessionFor(1)
			ses.Flushed = func(uint64) {}
			w, err := c.Sink(caps).Open(t.Context(), ses)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close(ended()) })
			b := batchOf(t, orders, 0, 3, 10)
			b.Seq = 1
			if err := w.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			receive(t, receipts, "receipt")
			if err := w.(sdk.Flusher).Flush(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			if err := receive(t, failed, "failure"); !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func flushedOf(session, seq uint64) *twgpb.SinkEvent {
	return &twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Flushed{Flushed: &twgpb.Flushed{Session: session, Seq: seq}}}
}

func TestTheHostChecksFlushed(t *testing.T) {
	soft, durable := sdk.Capabilities{DurableFlush: true}, sdk.Capabilities{Durable: true}
	written := &twgpb.Outcome{Kind: twgpb.OutcomeKind_OUTCOME_KIND_WRITTEN}
	tests := map[string]struct {
		caps   sdk.Capabilities
		events []*twgpb.SinkEvent
		right  int // Flushed events that are
		want   string
	}{
		"right":               {soft, []*twgpb.SinkEvent{receiptOf(1, 1, written), flushedOf(1, 1), flushedOf(1, 1)}, 2, "without Stopped"},
		"without capability":  {sdk.Capabilities{}, []*twgpb.SinkEvent{receiptOf(1, 1, written), flushedOf(1, 1)}, 0, "does not declare"},
		"of a durable sink":   {durable, []*twgpb.SinkEvent{receiptOf(1, 1, written)}, 0, "declares durable"},
		"another session":     {soft, []*twgpb.SinkEvent{receiptOf(1, 1, written), flushedOf(2, 1)}, 0, "session 2"},
		"never sent":          {soft, []*twgpb.SinkEvent{receiptOf(1, 1, written), flushedOf(1, 2)}, 0, "never sent"},
		"no outcome yet":      {soft, []*twgpb.SinkEvent{flushedOf(1, 1)}, 0, "no outcome yet"},
		"falls":               {soft, []*twgpb.SinkEvent{receiptOf(1, 1, written), flushedOf(1, 1), flushedOf(1, 0)}, 1, "after batch 1"},
		"written and durable": {soft, []*twgpb.SinkEvent{receiptOf(1, 1, written), receiptOf(1, 1, outcome(0, 0, 0))}, 0, "answered again"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := rogueClient(t, saying(tt.events), nil)
			ses, _, failed := sessionFor(1)
			flushed := make(chan uint64, 10)
			ses.Flushed = func(seq uint64) { flushed <- seq }
			w, err := c.Sink(tt.caps).Open(t.Context(), ses)
			if err != nil {
				t.Fatal(err)
			}
			b := batchOf(t, orders, 0, 1, 1)
			b.Seq = 1
			w.Write(t.Context(), b)
			err = receive(t, failed, "failure")
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a protocol error with %q", err, tt.want)
			}
			if len(flushed) != tt.right {
				t.Errorf("%d of Flushed got through, %d are right", len(flushed), tt.right)
			}
		})
	}
}

// saying is a sink that says events once it has a batch, and ends.
func saying(events []*twgpb.SinkEvent) func(twgpb.Sink_RunServer) error {
	return func(s twgpb.Sink_RunServer) error {
		s.Recv()
		for _, e := range []*twgpb.SinkEvent{sinkOpened, sinkMuch} {
			if err := s.Send(e); err != nil {
				return err
			}
		}
		s.Recv() // the batch
		for _, e := range events {
			if err := s.Send(e); err != nil {
				return err
			}
		}
		return nil
	}
}
