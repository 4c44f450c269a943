package plugintest

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
)

// serveRaw serves a plugin without what sdk/serve does for it, and with
// another flaw that the SDK rules out.
func serveRaw(p sdk.Plugin, how string) {
	h := &rawHandler{plugin: p, how: how}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         goplugin.PluginSet{wire.Service: h},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(opts, wire.ServerOptions()...), grpc.StreamInterceptor(h.intercept))...)
		},
	})
	if how == "immortal" {
		select {}
	}
}

type rawHandler struct {
	goplugin.NetRPCUnsupportedPlugin
	plugin sdk.Plugin
	how    string
	second secondServer
	runs   atomic.Int64
}

func (h *rawHandler) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	wire.NewServer(h.plugin, wire.Options{}).Register(g)
	wire.NewServer(h.plugin, wire.Options{}).Register(&h.second)
	return nil
}

func (*rawHandler) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin does not dial")
}

// intercept is where the flaws are.
func (h *rawHandler) intercept(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	run := strings.HasSuffix(info.FullMethod, "/Run")
	switch {
	case run && h.how == "two-sessions" && h.runs.Add(1)%2 == 0:
		return h.second.run(h.second.sink, stream)
	case run && h.how == "greedy":
		return handler(srv, &greedyStream{ServerStream: stream})
	}
	return handler(srv, stream)
}

// secondServer is another server in the same process, which does not wait for
// the first one's session.
type secondServer struct {
	sink any
	run  grpc.StreamHandler
}

func (s *secondServer) RegisterService(d *grpc.ServiceDesc, impl any) {
	for _, m := range d.Streams {
		if m.StreamName == "Run" {
			s.sink, s.run = impl, m.Handler
		}
	}
}

// greedyStream makes a source believe that it was granted credit.
type greedyStream struct {
	grpc.ServerStream
	received int
}

func (s *greedyStream) RecvMsg(m any) error {
	s.received++
	if c, ok := m.(*twgpb.SourceCommand); ok && s.received == 2 {
		c.Msg = &twgpb.SourceCommand_Credit{Credit: &twgpb.Credit{Bytes: 1 << 30}}
		return nil
	}
	return s.ServerStream.RecvMsg(m)
}
