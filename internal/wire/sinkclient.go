package wire

import (
	"context"
	"io"
	"slices"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

type sinkClient struct {
	plugin
	caps sdk.Capabilities
}

// Open begins a session on the plugin's process; ctx bounds Open only.
func (c sinkClient) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	s := &sinkSession{session: newSession(ctx), ses: ses, caps: c.caps, credit: newCredit(true), ledger: newLedger(ses.Granularity)}
	stream, err := twgpb.NewSinkClient(c.c.conn).Run(s.ctx)
	if err != nil {
		return nil, fromStatus("open sink "+c.c.desc.Name, err)
	}
	s.stream, s.out.msg = stream, stream.SendMsg
	s.pulse = newPulse(c.c.opt.PingInterval, s.ledger.oldest, s.beat)
	s.start(s.receive, ses.Fail)
	s.out.send(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Open{Open: &twgpb.OpenSink{Session: ses.ID, Limits: toLimits(ses.Limits),
		Pipeline: text(ses.Pipeline), Owner: text(ses.Owner), Granularity: toGranularity(ses.Granularity)}}})
	if err := s.awaitOpened(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// sinkSession is the host's side of a sink's session.
type sinkSession struct {
	*session
	ses    sdk.Session
	caps   sdk.Capabilities
	stream twgpb.Sink_RunClient
	credit *credit
	ledger *ledger
}

func (s *sinkSession) beat(ping *twgpb.Ping, pong *twgpb.Pong) error {
	if ping != nil {
		return s.out.send(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Ping{Ping: ping}})
	}
	return s.out.send(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Pong{Pong: pong}})
}

// Write blocks while the sink has granted no credit. b's memory is read until
// its last outcome, or the session's end.
func (s *sinkSession) Write(ctx context.Context, b *sdk.Batch) error {
	if err := s.credit.take(ctx, s.ctx, b.Bytes()); err != nil {
		return err
	}
	sent := make(chan struct{})
	if _, err := s.ledger.add(b, sent); err != nil {
		return err
	}
	return s.send(outgoingSink(toSinkBatch(s.ses.ID, b), b.Frame.Bytes(), func() { close(sent) }))
}

// Flush asks for everything up to seq; the receipts, and of a sink with
// durable_flush Flushed, say when it is done.
func (s *sinkSession) Flush(_ context.Context, seq uint64) error {
	return s.send(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Flush{Flush: &twgpb.Flush{Seq: seq}}})
}

func (s *sinkSession) Close(ctx context.Context) error {
	return s.close(ctx, func(ms int64) any {
		return &twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Stop{Stop: &twgpb.Stop{DeadlineMs: ms}}}
	})
}

func (s *sinkSession) receive() error {
	for {
		m, err := s.stream.Recv()
		if err == io.EOF {
			return violation("the plugin ended its stream without Stopped")
		}
		if err != nil {
			return fromStatus("receive from sink", err)
		}
		s.pulse.hear()
		if done, err := s.handle(m); err != nil || done {
			return err
		}
	}
}

// handle returns done at Stopped.
func (s *sinkSession) handle(m *twgpb.SinkEvent) (done bool, err error) {
	switch e := m.Msg.(type) {
	case *twgpb.SinkEvent_Opened:
		return false, s.open()
	case *twgpb.SinkEvent_Credit:
		return false, s.credit.add(e.Credit.GetBytes(), e.Credit.GetBatches())
	case *twgpb.SinkEvent_Receipt:
		return false, s.receipt(e.Receipt)
	case *twgpb.SinkEvent_Flushed:
		return false, s.flushed(e.Flushed)
	case *twgpb.SinkEvent_Error:
		return false, fromError(e.Error)
	case *twgpb.SinkEvent_Stopped:
		close(s.stopped)
		return true, nil
	case *twgpb.SinkEvent_Ping:
		s.pulse.ping(e.Ping)
	case *twgpb.SinkEvent_Pong:
		s.pulse.pong(e.Pong)
	default:
		return false, violation("an event of a kind that was not agreed on")
	}
	return false, nil
}

// receipt hands a receipt on once it was checked. Nothing of one that is wrong
// is believed.
func (s *sinkSession) receipt(r *twgpb.Receipt) error {
	if r.GetSession() != s.ses.ID {
		return violation("a receipt of session %d in session %d", r.GetSession(), s.ses.ID)
	}
	spans, err := s.ledger.find(r.Seq)
	if err != nil {
		return err
	}
	outcomes, err := fromReceipt(r, spans)
	if err != nil {
		return err
	}
	if s.caps.Durable && slices.ContainsFunc(outcomes, func(o placed) bool { return o.Kind == sdk.Written }) {
		return violation("batch %d is answered as written; the sink declares durable", r.Seq)
	}
	e, err := s.ledger.answer(r.Seq, outcomes)
	if err != nil {
		return err
	}
	if e != nil {
		// The transport may not have noticed yet that it has sent the batch,
		// whose memory is free once the receipt is out.
		select {
		case <-e.sent:
		case <-s.ctx.Done():
			return nil
		}
	}
	s.ses.Report(sdk.Receipt{Session: r.Session, Seq: r.Seq, Outcomes: each(outcomes, func(o placed) sdk.Outcome { return o.Outcome })})
	return nil
}

// flushed tells the host what is on stable storage now.
func (s *sinkSession) flushed(f *twgpb.Flushed) error {
	switch {
	case !s.caps.DurableFlush:
		return violation("Flushed of a sink that does not declare durable_flush")
	case f.GetSession() != s.ses.ID:
		return violation("Flushed of session %d in session %d", f.GetSession(), s.ses.ID)
	}
	if err := s.ledger.flush(f.GetSeq()); err != nil {
		return err
	}
	s.ses.Flushed(f.GetSeq())
	return nil
}
