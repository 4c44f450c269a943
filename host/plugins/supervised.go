package plugins

import (
	"context"
	"errors"
	"fmt"

	"github.com/twg-io/twg/sdk"
)

// supervised is the sdk.Plugin of a supervisor.
type supervised struct{ s *Supervisor }

// Status says how the process is doing.
func (p supervised) Status() Status { return p.s.Status() }

func (p supervised) Describe() sdk.Description { return p.s.desc }

// Configure returns what the settings that are in force gave; the supervisor
// has configured the process and does so again after every restart.
func (p supervised) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return p.s.caps, nil
}

// failed explains the error that ended a session, and ends the process with
// it: the next session gets a fresh one, whatever state this one is in.
func (p supervised) failed(proc *Process, err error) error {
	err = proc.explain(err)
	proc.retire(err)
	return err
}

// broke is failed for a session that ended without the host's doing.
func (p supervised) broke(proc *Process, err error) error {
	if errors.Is(err, context.Canceled) {
		err = fmt.Errorf("%w: %w", errUnwinding, err)
	}
	return p.failed(proc, err)
}

// Source is the plugin as a source. Open waits for a process that runs. Its
// Reader is an sdk.CreditGranter.
func (s *Supervisor) Source() sdk.Source { return supervisedSource{supervised{s}} }

type supervisedSource struct{ supervised }

func (p supervisedSource) Open(ctx context.Context, ev sdk.Events) (sdk.Reader, error) {
	proc, err := p.s.live(ctx)
	if err != nil {
		return nil, err
	}
	r, err := proc.Source().Open(ctx, explainingEvents{ev, p.supervised, proc})
	if err != nil {
		return nil, p.failed(proc, err)
	}
	return supervisedReader{r, r.(sdk.CreditGranter), p.supervised, proc}, nil
}

// explainingEvents tell why the process failed, not only that its stream did.
type explainingEvents struct {
	sdk.Events
	p    supervised
	proc *Process
}

func (e explainingEvents) Fail(err error) { e.Events.Fail(e.p.broke(e.proc, err)) }

type supervisedReader struct {
	sdk.Reader
	sdk.CreditGranter
	p    supervised
	proc *Process
}

// Close ends the process too if the source did not stop in good order.
func (r supervisedReader) Close(ctx context.Context) error {
	if err := r.Reader.Close(ctx); err != nil {
		return r.p.failed(r.proc, err)
	}
	return nil
}

// Sink is the plugin as a sink. Open waits for a process that runs. With the
// capability offset_store it is an sdk.OffsetStore too, with replayable an
// sdk.Replayer, and with both an sdk.RecoveryStore.
func (s *Supervisor) Sink() sdk.Sink {
	sink := supervisedSink{supervised{s}}
	store, replay := supervisedStore{s}, supervisedReplay{s}
	switch {
	case s.caps.OffsetStore && s.caps.Replayable:
		return struct {
			supervisedSink
			supervisedRecovery
			supervisedReplay
		}{sink, supervisedRecovery{store}, replay}
	case s.caps.OffsetStore:
		return struct {
			supervisedSink
			supervisedStore
		}{sink, store}
	case s.caps.Replayable:
		return struct {
			supervisedSink
			supervisedReplay
		}{sink, replay}
	}
	return sink
}

type supervisedSink struct{ supervised }

func (p supervisedSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	proc, err := p.s.live(ctx)
	if err != nil {
		return nil, err
	}
	fail := ses.Fail
	ses.Fail = func(err error) { fail(p.broke(proc, err)) }
	w, err := proc.Sink(p.s.caps).Open(ctx, ses)
	if err != nil {
		return nil, p.failed(proc, err)
	}
	return supervisedWriter{w, w.(sdk.Flusher), p.supervised, proc}, nil
}

type supervisedWriter struct {
	sdk.Writer
	sdk.Flusher
	p    supervised
	proc *Process
}

// Close ends the process too if the sink did not stop in good order.
func (w supervisedWriter) Close(ctx context.Context) error {
	if err := w.Writer.Close(ctx); err != nil {
		return w.p.failed(w.proc, err)
	}
	return nil
}
