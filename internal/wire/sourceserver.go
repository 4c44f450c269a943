package wire

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

type sourceServer struct {
	twgpb.UnimplementedSourceServer
	s      *Server
	source sdk.Source
}

func (s sourceServer) Run(stream twgpb.Source_RunServer) error {
	m, err := stream.Recv()
	return inTurn(stream.Context(), s.s, m.GetOpen(), err, func(open *twgpb.OpenSource) error { return newSourceRun(s, stream, open).serve() })
}

// sourceRun is a source's life on the plugin's side. The receiving goroutine
// always reads; what a command asks for is done on a lane.
type sourceRun struct {
	*life
	server sourceServer
	stream twgpb.Source_RunServer
	limits sdk.Limits
	out    sender
	pulse  *pulse
	credit *credit
	revoke *revocations

	commits  lane // in order among themselves
	control  lane // Start and Drop, in order among themselves
	resolves lane

	reader  sdk.Reader
	opened  chan struct{} // closed once reader is set
	stopped chan time.Duration
}

func newSourceRun(s sourceServer, stream twgpb.Source_RunServer, open *twgpb.OpenSource) *sourceRun {
	r := &sourceRun{life: newLife(stream.Context()), server: s, stream: stream, limits: fromLimits(open.Limits),
		credit: newCredit(false), revoke: newRevocations(), commits: newLane(), control: newLane(), resolves: newLane(),
		opened: make(chan struct{}), stopped: make(chan time.Duration, 2)}
	r.out.msg = stream.SendMsg
	r.pulse = newPulse(s.s.opt.PingInterval, func() uint64 { return 0 }, func(ping *twgpb.Ping, pong *twgpb.Pong) error {
		if ping != nil {
			return r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Ping{Ping: ping}})
		}
		return r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Pong{Pong: pong}})
	})
	return r
}

func (r *sourceRun) serve() error {
	r.server.s.tend(r.life, r.pulse, r.receive, func(d time.Duration) { r.stopped <- d })
	reader, err := r.server.source.Open(r.ctx, sourceEvents{r})
	if err != nil {
		r.end(err)
		return r.tell(err)
	}
	r.begin(reader)
	select {
	case d := <-r.stopped:
		return r.finish(d)
	case <-r.ctx.Done():
		return r.abort(r.cause())
	}
}

func (r *sourceRun) begin(reader sdk.Reader) {
	r.reader = reader
	close(r.opened)
	if err := r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Opened{Opened: &twgpb.Opened{}}}); err != nil {
		r.cancel(err)
	}
	for _, l := range []lane{r.commits, r.control, r.resolves} {
		r.run(func() error { return l.run(r.ctx) })
	}
}

// finish does what was asked for before Stop, and then closes the reader while
// commits and drops are still served: leaving a group may need them.
func (r *sourceRun) finish(d time.Duration) error {
	ctx, cancel := context.WithTimeout(r.ctx, d)
	defer cancel()
	r.commits.settle(ctx)
	r.control.settle(ctx)
	err := r.reader.Close(ctx)
	if err == nil {
		err = r.cause()
	}
	if err != nil {
		r.end(err)
		return r.tell(err)
	}
	r.end(errStopped)
	return r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Stopped{Stopped: &twgpb.Stopped{}}})
}

var errStopped = &sdk.Error{Op: "send event", Kind: sdk.KindRetryable, Scope: sdk.ScopeSession, Err: errors.New("the source has been closed")}

// abort leaves the group at once.
func (r *sourceRun) abort(cause error) error {
	r.reader.Close(ended()) // the stream has failed already, with a better cause
	r.wg.Wait()
	return r.tell(cause)
}

func (r *sourceRun) tell(err error) error {
	r.out.send(&twgpb.SourceEvent{Msg: &twgpb.SourceEvent_Error{Error: toError(err)}})
	return err
}

func (r *sourceRun) receive() error {
	for {
		m, err := r.stream.Recv()
		if err == io.EOF {
			return errAborted
		}
		if err != nil {
			return fromStatus("receive from the host", err)
		}
		r.pulse.hear()
		if err := r.handle(m); err != nil {
			return err
		}
	}
}

func (r *sourceRun) handle(m *twgpb.SourceCommand) error {
	switch c := m.Msg.(type) {
	case *twgpb.SourceCommand_Credit:
		return r.credit.add(c.Credit.GetBytes(), 0)
	case *twgpb.SourceCommand_Stop:
		select {
		case r.stopped <- time.Duration(c.Stop.GetDeadlineMs()) * time.Millisecond:
		default:
		}
		return nil
	case *twgpb.SourceCommand_Ping:
		r.pulse.ping(c.Ping)
		return nil
	case *twgpb.SourceCommand_Pong:
		r.pulse.pong(c.Pong)
		return nil
	case *twgpb.SourceCommand_Open:
		return violation("a second Open on one stream")
	}
	return r.request(m)
}
