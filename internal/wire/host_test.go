package wire

import (
	"errors"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// rogueSink and rogueSource say whatever a test wants. They are built on the
// messages alone, so that nothing of our plugin's side keeps them in order.
type rogueSink struct {
	twgpb.UnimplementedSinkServer
	run func(twgpb.Sink_RunServer) error
}

func (r rogueSink) Run(s twgpb.Sink_RunServer) error { return r.run(s) }

type rogueSource struct {
	twgpb.UnimplementedSourceServer
	run func(twgpb.Source_RunServer) error
}

func (r rogueSource) Run(s twgpb.Source_RunServer) error { return r.run(s) }

func rogueClient(t *testing.T, sink func(twgpb.Sink_RunServer) error, source func(twgpb.Source_RunServer) error) *Client {
	conn := serveFor(t, func(g grpc.ServiceRegistrar) {
		twgpb.RegisterSinkServer(g, rogueSink{run: sink})
		twgpb.RegisterSourceServer(g, rogueSource{run: source})
	})
	return &Client{conn: conn}
}

var (
	sinkOpened = &twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Opened{Opened: &twgpb.Opened{}}}
	sinkMuch   = sinkCredit(1<<30, 1000)
	srcOpened  = &twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Opened{Opened: &twgpb.Opened{}}}
)

func receiptOf(session, seq uint64, o ...*twgpb.Outcome) *twgpb.SinkEvent {
	return &twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Receipt{Receipt: &twgpb.Receipt{Session: session, Seq: seq, Outcomes: o}}}
}

// unknownArm is an event of a later protocol that nobody agreed on.
func unknownArm(t *testing.T) *twgpb.SinkEvent {
	m := &twgpb.SinkEvent{}
	if err := proto.Unmarshal([]byte{0xaa, 0x06, 0x00}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// The host believes nothing of a sink that breaks the protocol: the session
// fails and no receipt that is wrong gets through.
func TestTheHostChecksWhatASinkSays(t *testing.T) {
	ok := outcome(0, 0, 0)
	tests := map[string]struct {
		events   []*twgpb.SinkEvent
		receipts int // that are right
		want     string
	}{
		"twice":             {[]*twgpb.SinkEvent{receiptOf(1, 1, ok), receiptOf(1, 1, ok)}, 1, "answered again"},
		"never sent":        {[]*twgpb.SinkEvent{receiptOf(1, 2, ok)}, 0, "never sent"},
		"another session":   {[]*twgpb.SinkEvent{receiptOf(9, 1, ok)}, 0, "session 9"},
		"another span":      {[]*twgpb.SinkEvent{receiptOf(1, 1, outcome(1, 0, 0))}, 0, "span 1"},
		"no known outcome":  {[]*twgpb.SinkEvent{receiptOf(1, 1, &twgpb.Outcome{Kind: 77})}, 0, "not known"},
		"unknown event":     {[]*twgpb.SinkEvent{unknownArm(t)}, 0, "not agreed on"},
		"opened twice":      {[]*twgpb.SinkEvent{sinkOpened}, 0, "second Opened"},
		"negative credit":   {[]*twgpb.SinkEvent{sinkCredit(-1, 0)}, 0, "negative"},
		"ends without word": {nil, 0, "without Stopped"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := rogueClient(t, func(s twgpb.Sink_RunServer) error {
				s.Recv()
				for _, e := range []*twgpb.SinkEvent{sinkOpened, sinkMuch} {
					if err := s.Send(e); err != nil {
						return err
					}
				}
				s.Recv() // the batch
				for _, e := range tt.events {
					if err := s.Send(e); err != nil {
						return err
					}
				}
				return nil
			}, nil)
			ses, receipts, failed := sessionFor(1)
			w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
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
			if len(receipts) != tt.receipts {
				t.Errorf("%d receipts got through, %d are right", len(receipts), tt.receipts)
			}
		})
	}
}

func TestOpenReturnsWhyItFailed(t *testing.T) {
	c := rogueClient(t, func(s twgpb.Sink_RunServer) error {
		return toStatus(sdk.Errorf(sdk.KindFatal, "open directory", "it belongs to another pipeline"))
	}, func(s twgpb.Source_RunServer) error {
		s.Recv()
		return s.Send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Error{Error: &twgpb.Error{Kind: 77, Op: "join group", Message: "no"}}})
	})
	ses, _, failed := sessionFor(1)
	_, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
	if sdk.KindOf(err) != sdk.KindFatal || err.Error() != "open directory: it belongs to another pipeline" {
		t.Errorf("open sink: %v", err)
	}
	if _, err := c.Source().Open(t.Context(), newEars()); sdk.KindOf(err) != sdk.KindFatal || err.Error() != "join group: no" {
		t.Errorf("open source: %v", err)
	}
	if len(failed) > 0 {
		t.Error("a failed Open was told to Fail too")
	}
}

// The host bounds what it takes in: a source that sends without credit has
// broken the protocol.
func TestTheHostChecksWhatASourceSays(t *testing.T) {
	batch := func(from int64) *twgpb.SourceEvent {
		b := batchOf(t, orders, from, 1, 100)
		m := toSourceBatch(b)
		m.Frame = b.Frame.Bytes()
		return &twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Batch{Batch: m}}
	}
	tests := map[string]struct {
		events []*twgpb.SourceEvent
		want   string
	}{
		"no credit":       {[]*twgpb.SourceEvent{batch(0), batch(1)}, "without credit"},
		"unasked answer":  {[]*twgpb.SourceEvent{{Msg: &twgpb.SourceEvent_Dropped{Dropped: &twgpb.Dropped{Request: 4}}}}, "never made"},
		"unknown event":   {[]*twgpb.SourceEvent{{}}, "not agreed on"},
		"no stream":       {[]*twgpb.SourceEvent{{Msg: &twgpb.SourceEvent_Gap{Gap: &twgpb.Gap{}}}}, "no stream"},
		"batch of a void": {[]*twgpb.SourceEvent{{Msg: &twgpb.SourceEvent_Batch{Batch: &twgpb.SourceBatch{}}}}, "without spans"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := rogueClient(t, nil, func(s twgpb.Source_RunServer) error {
				s.Recv()
				s.Send(srcOpened)
				s.Recv() // the credit
				for _, e := range tt.events {
					s.Send(e)
				}
				_, err := s.Recv()
				return err
			})
			ears := newEars()
			r, err := c.Source().Open(t.Context(), ears)
			if err != nil {
				t.Fatal(err)
			}
			r.(sdk.CreditGranter).Grant(1)
			if err := receive(t, ears.failed, "failure"); !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want a protocol error with %q", err, tt.want)
			}
			if err := r.Start(t.Context(), nil); err == nil {
				t.Error("a failed source starts")
			}
		})
	}
}

// command is the host's side by hand: it sends and hears.
func command(t *testing.T, p sdk.Plugin) (twgpb.Sink_RunClient, twgpb.Source_RunClient) {
	t.Helper()
	s := NewServer(p, Options{})
	t.Cleanup(s.Wait)
	conn := serveFor(t, s.Register)
	sink, err := twgpb.NewSinkClient(conn).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := twgpb.NewSourceClient(conn).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sink, source
}

func sinkOpen(session uint64) *twgpb.SinkCommand {
	return &twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Open{Open: &twgpb.OpenSink{Session: session}}}
}

func batchCommand(t *testing.T, session, seq uint64) *twgpb.SinkCommand {
	b := batchOf(t, orders, int64(seq), 1, 1)
	b.Seq = seq
	m := toSinkBatch(session, b)
	m.Payload = b.Frame.Bytes()
	return &twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Batch{Batch: m}}
}

// The plugin's side refuses what breaks the protocol, and says so.
func TestThePluginChecksWhatTheHostSays(t *testing.T) {
	tests := map[string]struct {
		commands []*twgpb.SinkCommand
		want     string
	}{
		"no open":         {[]*twgpb.SinkCommand{batchCommand(t, 1, 1)}, "begins with Open"},
		"another session": {[]*twgpb.SinkCommand{sinkOpen(1), batchCommand(t, 2, 1)}, "session 2"},
		"a seq again":     {[]*twgpb.SinkCommand{sinkOpen(1), batchCommand(t, 1, 2), batchCommand(t, 1, 2)}, "must ascend"},
		"open again":      {[]*twgpb.SinkCommand{sinkOpen(1), sinkOpen(1)}, "second Open"},
		"unknown":         {[]*twgpb.SinkCommand{sinkOpen(1), {}}, "not agreed on"},
		"end, no stop":    {[]*twgpb.SinkCommand{sinkOpen(1), nil}, "without Stop"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sink, _ := command(t, holdingSink{describedPlugin{kind: sdk.KindSink}})
			for i, c := range tt.commands {
				if c == nil {
					sink.CloseSend()
					continue
				}
				sink.Send(c)
				if i == 0 && c.GetOpen() != nil {
					if m, err := sink.Recv(); err != nil || m.GetOpened() == nil {
						t.Fatalf("opened with %v, %v", m, err)
					}
				}
			}
			for {
				m, err := sink.Recv()
				if err == nil && m.GetError() == nil {
					continue
				}
				if err == nil {
					err = fromError(m.GetError())
				} else if err == io.EOF {
					t.Fatal("the stream ended in good order")
				} else {
					err = fromStatus("", err)
				}
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				return
			}
		})
	}
}
