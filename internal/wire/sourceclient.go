package wire

import (
	"context"
	"io"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

type sourceClient struct{ plugin }

// Open opens the source on the plugin's process; ctx bounds Open only. Events
// may be told things before Open has returned.
func (c sourceClient) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	s := &sourceSession{session: newSession(ctx), ev: ev, credit: newCredit(false), calls: newCalls(), revoke: newRevocations(),
		data: newInbox(dataCap), control: newInbox(controlCap)}
	stream, err := twgpb.NewSourceClient(c.c.conn).Run(s.ctx)
	if err != nil {
		return nil, fromStatus("open source "+c.c.desc.Name, err)
	}
	s.stream, s.out.msg = stream, stream.SendMsg
	s.pulse = newPulse(c.c.opt.PingInterval, func() uint64 { return 0 }, s.beat)
	s.run(func() error { return s.data.run(s.ctx) })
	s.run(func() error { return s.control.run(s.ctx) })
	s.start(s.receive, ev.Fail)
	s.out.send(&twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Open{Open: &twgpb.OpenSource{Limits: toLimits(ev.Limits())}}})
	if err := s.awaitOpened(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// sourceSession is the host's side of a source's stream. The receiver always
// reads: what it has read waits in two inboxes for the host's Events. Batches
// have their own, so that a host that takes none at the moment still hears of
// a revocation.
type sourceSession struct {
	*session
	ev     sdk.Events
	stream twgpb.Source_RunClient
	credit *credit // what the source may still send
	calls  *calls

	data, control *inbox
	revoke        *revocations
}

func (s *sourceSession) beat(ping *twgpb.Ping, pong *twgpb.Pong) error {
	if ping != nil {
		return s.out.send(&twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Ping{Ping: ping}})
	}
	return s.out.send(&twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Pong{Pong: pong}})
}

// Grant implements sdk.CreditGranter.
func (s *sourceSession) Grant(bytes int64) {
	if bytes <= 0 || s.credit.add(bytes, 0) != nil {
		return
	}
	s.out.send(&twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Credit{Credit: &twgpb.Credit{Bytes: bytes}}})
}

func (s *sourceSession) Close(ctx context.Context) error {
	return s.close(ctx, func(ms int64) any {
		return &twgpb.SourceCommand{Msg: &twgpb.SourceCommand_Stop{Stop: &twgpb.Stop{DeadlineMs: ms}}}
	})
}

func (s *sourceSession) receive() error {
	for {
		m, err := s.stream.Recv()
		if err == io.EOF {
			return violation("the plugin ended its stream without Stopped")
		}
		if err != nil {
			return fromStatus("receive from source", err)
		}
		s.pulse.hear()
		if done, err := s.handle(m); err != nil || done {
			return err
		}
	}
}

// handle returns done at Stopped.
func (s *sourceSession) handle(m *twgpb.SourceEvent) (done bool, err error) {
	switch e := m.Msg.(type) {
	case *twgpb.SourceEvent_Opened:
		return false, s.open()
	case *twgpb.SourceEvent_Error:
		return false, fromError(e.Error)
	case *twgpb.SourceEvent_Stopped:
		close(s.stopped)
		return true, nil
	case *twgpb.SourceEvent_Ping:
		s.pulse.ping(e.Ping)
		return false, nil
	case *twgpb.SourceEvent_Pong:
		s.pulse.pong(e.Pong)
		return false, nil
	case nil:
		return false, violation("an event of a kind that was not agreed on")
	}
	if answered, err := s.calls.answer(m); answered || err != nil {
		return false, err
	}
	return false, s.deliver(m)
}
