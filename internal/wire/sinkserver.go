package wire

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// What a sink's side grants at first, and so the most that waits for Write.
const (
	sinkCreditBytes   = sdk.SinkCredit
	sinkCreditBatches = 64
)

var errAborted = errors.New("the host ended the stream without Stop")

type sinkServer struct {
	twgpb.UnimplementedSinkServer
	s    *Server
	sink sdk.Sink
}

func (s sinkServer) Run(stream twgpb.Sink_RunServer) error {
	m, err := stream.Recv()
	return inTurn(stream.Context(), s.s, m.GetOpen(), err, func(open *twgpb.OpenSink) error { return newSinkRun(s, stream, open).serve() })
}

// sinkRun is one session on the plugin's side. The receiving goroutine always
// reads; batches wait in queue, which credit bounds, until Write takes them.
type sinkRun struct {
	*life
	server sinkServer
	stream twgpb.Sink_RunServer
	open   *twgpb.OpenSink
	out    sender
	pulse  *pulse
	ledger *ledger
	window *credit // what the host may still send
	queue  chan queued
	flush  *flusher

	opened  atomic.Bool
	closed  atomic.Bool // no Report counts any more
	stopped atomic.Bool
	grace   chan *time.Timer // Stop's deadline, at most one
	timer   *time.Timer
}

// queued is a batch that waits for Write; without one, the end before Stop.
type queued struct {
	*sdk.Batch
	entry *entry
}

func newSinkRun(s sinkServer, stream twgpb.Sink_RunServer, open *twgpb.OpenSink) *sinkRun {
	r := &sinkRun{life: newLife(stream.Context()), server: s, stream: stream, open: open,
		ledger: newLedger(fromGranularity(open.Granularity)), window: newCredit(true),
		queue: make(chan queued, sinkCreditBatches+1), flush: newFlusher(), grace: make(chan *time.Timer, 1)}
	r.out.msg = stream.SendMsg
	r.pulse = newPulse(s.s.opt.PingInterval, r.ledger.oldest, func(ping *twgpb.Ping, pong *twgpb.Pong) error {
		if ping != nil {
			return r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Ping{Ping: ping}})
		}
		return r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Pong{Pong: pong}})
	})
	return r
}

func (r *sinkRun) serve() error {
	r.server.s.tend(r.life, r.pulse, r.receive, r.stop)
	w, err := r.server.sink.Open(r.ctx, r.session())
	if err != nil {
		r.end(err)
		return r.tell(err)
	}
	if err := r.begin(); err != nil {
		r.cancel(err)
	}
	written := make(chan struct{})
	r.run(func() error { defer close(written); return r.write(w) })
	if f, ok := w.(sdk.Flusher); ok {
		r.run(func() error { return r.flush.run(r.ctx, f) })
	}
	if err := r.untilStop(written); err != nil {
		return r.abort(w, err)
	}
	return r.finish(w)
}

func (r *sinkRun) session() sdk.Session {
	return sdk.Session{ID: r.open.Session, Pipeline: r.open.Pipeline, Owner: r.open.Owner, Limits: fromLimits(r.open.Limits),
		Granularity: fromGranularity(r.open.Granularity), Report: r.report, Flushed: r.flushed, Fail: r.fail}
}

// begin says Opened and grants the first credit.
func (r *sinkRun) begin() error {
	if err := r.window.add(sinkCreditBytes, sinkCreditBatches); err != nil {
		return err
	}
	r.opened.Store(true)
	if err := r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Opened{Opened: &twgpb.Opened{}}}); err != nil {
		return err
	}
	return r.out.send(sinkCredit(sinkCreditBytes, sinkCreditBatches))
}

func sinkCredit(bytes, batches int64) *twgpb.SinkEvent {
	return &twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Credit{Credit: &twgpb.Credit{Bytes: bytes, Batches: batches}}}
}

// untilStop returns nil once everything that came before Stop was given to
// Write.
func (r *sinkRun) untilStop(written <-chan struct{}) error {
	select {
	case r.timer = <-r.grace:
	case <-r.ctx.Done():
		return r.cause()
	}
	select {
	case <-written:
		return r.cause()
	case <-r.ctx.Done():
		return r.cause()
	}
}

// finish settles the session in good order. The deadline of Stop still runs.
func (r *sinkRun) finish(w sdk.Writer) error {
	defer r.timer.Stop()
	err := w.Close(r.ctx)
	r.closed.Store(true)
	if err == nil {
		err = r.cause()
	}
	if err != nil {
		return r.abort(w, err)
	}
	err = r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Stopped{Stopped: &twgpb.Stopped{}}})
	r.end(context.Canceled)
	return err
}

// abort gives up what is not durable. Write may still run: it ends with ctx.
func (r *sinkRun) abort(w sdk.Writer, cause error) error {
	r.cancel(cause)
	w.Close(ended()) // the session has failed already, with a better cause
	r.closed.Store(true)
	r.wg.Wait()
	r.drain()
	return r.tell(cause)
}

// tell sends the error as an event, which, unlike a stream's status, arrives
// in order behind the receipts.
func (r *sinkRun) tell(err error) error {
	r.out.send(&twgpb.SinkEvent{Msg: &twgpb.SinkEvent_Error{Error: toError(err)}})
	return err
}

func (r *sinkRun) fail(err error) {
	if err == nil {
		err = errors.New("the sink failed and did not say why")
	}
	r.cancel(err)
}

func (r *sinkRun) receive() error {
	for {
		m, err := r.stream.Recv()
		if err == io.EOF {
			if r.stopped.Load() {
				return nil
			}
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

func (r *sinkRun) handle(m *twgpb.SinkCommand) error {
	switch c := m.Msg.(type) {
	case *twgpb.SinkCommand_Batch:
		return r.batch(c.Batch)
	case *twgpb.SinkCommand_Flush:
		r.flush.ask(c.Flush.GetSeq()) // its batches may still be on their way
	case *twgpb.SinkCommand_Stop:
		r.stop(time.Duration(c.Stop.GetDeadlineMs()) * time.Millisecond)
	case *twgpb.SinkCommand_Ping:
		r.pulse.ping(c.Ping)
	case *twgpb.SinkCommand_Pong:
		r.pulse.pong(c.Pong)
	case *twgpb.SinkCommand_Open:
		return violation("a second Open on one stream")
	default:
		return violation("a command of a kind that was not agreed on")
	}
	return nil
}

// stop lets what came before be written and answered.
func (r *sinkRun) stop(deadline time.Duration) {
	if r.stopped.Swap(true) {
		return
	}
	r.queue <- queued{}
	r.flush.ask(r.ledger.newest())
	r.grace <- time.AfterFunc(deadline, func() { r.cancel(context.DeadlineExceeded) })
}
