package wire

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// Options tune both sides; the zero value is the product's.
type Options struct {
	// PingInterval is how often Ping is sent; three silent intervals end the
	// stream. Zero: 5 s.
	PingInterval time.Duration
}

// Server serves one plugin: the plugin's side of the protocol.
type Server struct {
	plugin sdk.Plugin
	opt    Options
	turn   chan struct{} // held by the session that is not settled yet
	stop   chan struct{} // closed: sessions end in good order
	once   sync.Once
	// written: the host knows the feature of that name.
	written atomic.Bool

	receivers sync.WaitGroup
}

// NewServer serves p, which is an sdk.Source or an sdk.Sink.
func NewServer(p sdk.Plugin, opt Options) *Server {
	return &Server{plugin: p, opt: opt, turn: make(chan struct{}, 1), stop: make(chan struct{})}
}

// Register adds the services that the plugin offers.
func (s *Server) Register(g grpc.ServiceRegistrar) {
	twgpb.RegisterPluginServer(g, pluginServer{s: s})
	if src, ok := s.plugin.(sdk.Source); ok {
		twgpb.RegisterSourceServer(g, sourceServer{s: s, source: src})
	}
	sink, ok := s.plugin.(sdk.Sink)
	if !ok {
		return
	}
	twgpb.RegisterSinkServer(g, sinkServer{s: s, sink: sink})
	if store, ok := sink.(sdk.OffsetStore); ok {
		twgpb.RegisterOffsetStoreServer(g, storeServer{store: store})
	}
}

// Stop ends sessions as a Stop of the host would; nothing new is begun.
func (s *Server) Stop() { s.once.Do(func() { close(s.stop) }) }

// Settled returns once the session that runs, if any, has been settled.
func (s *Server) Settled(ctx context.Context) error {
	done, err := s.settle(ctx)
	if err == nil {
		done()
	}
	return err
}

// Wait returns once every stream's goroutine has ended. The gRPC server must
// have been stopped.
func (s *Server) Wait() { s.receivers.Wait() }

// stopGrace is what a session gets when the process is asked to stop by a
// signal, not by the host.
const stopGrace = 5 * time.Second

// stopping calls stop if Stop is called before ctx ends.
func (s *Server) stopping(ctx context.Context, stop func(time.Duration)) {
	select {
	case <-s.stop:
		stop(stopGrace)
	case <-ctx.Done():
	}
}

// settle waits until the session before has been settled.
func (s *Server) settle(ctx context.Context) (done func(), err error) {
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// inTurn serves a stream whose first message was received: Open, and the
// session before must have been settled.
func inTurn[O any](ctx context.Context, s *Server, open *O, err error, serve func(*O) error) error {
	switch {
	case err != nil:
		return err
	case open == nil:
		return toStatus(violation("a stream begins with Open"))
	}
	done, err := s.settle(ctx)
	if err != nil {
		return toStatus(err)
	}
	defer done()
	return toStatus(serve(open))
}

// tend starts the goroutines that every stream has on the plugin's side. stop
// is called when the process is asked to end.
func (s *Server) tend(l *life, p *pulse, receive func() error, stop func(time.Duration)) {
	s.receive(l, receive)
	l.run(func() error { return p.watch(l.ctx) })
	l.run(func() error { return p.talk(l.ctx) })
	l.run(func() error {
		s.stopping(l.ctx, stop)
		return nil
	})
}

// receive starts the goroutine that reads a stream. gRPC ends it when the
// stream's handler returns, so the handler cannot wait for it; Wait does.
func (s *Server) receive(l *life, f func() error) {
	s.receivers.Add(1)
	go func() {
		defer s.receivers.Done()
		if err := f(); err != nil {
			l.cancel(err)
		}
	}()
}

type pluginServer struct {
	twgpb.UnimplementedPluginServer
	s *Server
}

func (p pluginServer) Describe(context.Context, *twgpb.DescribeRequest) (*twgpb.DescribeResponse, error) {
	return toDescription(p.s.plugin.Describe()), nil
}

// Configure agrees to the features that both sides know.
func (p pluginServer) Configure(_ context.Context, r *twgpb.ConfigureRequest) (*twgpb.ConfigureResponse, error) {
	caps, diags := p.s.plugin.Configure(sdk.NewSettings(r.Settings))
	both := agreed(r.Features)
	p.s.written.Store(slices.Contains(both, featureWritten))
	if !p.s.written.Load() {
		caps.DurableFlush = false
	}
	return &twgpb.ConfigureResponse{Capabilities: toCapabilities(caps), Diagnostics: each(diags, toDiagnostic), Features: both}, nil
}
