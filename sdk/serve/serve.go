// Package serve is what a plugin's main calls.
//
//	func main() { serve.Main(mysink.New()) }
package serve

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
)

// settleTime bounds how long a process that is about to end waits for its
// session: a source leaves its group, a sink aborts what is not durable.
const settleTime = 5 * time.Second

// flushTime is for what a session said last, its receipts above all: gRPC
// writes behind the caller's back and cannot be asked when it has.
const flushTime = 200 * time.Millisecond

// Main serves p, an sdk.Source or an sdk.Sink, to the host that started this
// process, and does not return before the host is done with it. It sets
// slog's default logger: what a plugin logs there goes to the host.
//
// The process ends by itself within ten seconds after the host is gone.
// SIGINT is ignored (a person's Ctrl-C is the host's to act on); SIGTERM ends
// the session in good order.
func Main(p sdk.Plugin) {
	if len(os.Args) == 2 && os.Args[1] == "--describe" {
		os.Exit(describe(os.Stdout, p))
	}
	if os.Getenv(wire.CookieKey) != wire.CookieValue {
		byHand(os.Stderr, p)
		os.Exit(1)
	}
	// A host that was killed no longer reads what this process logs. That must
	// not end it before its session is settled.
	signal.Ignore(syscall.SIGPIPE)
	slog.SetDefault(newLogger(os.Stderr))
	server := wire.NewServer(p, wire.Options{})
	life := newLifetime(func(reason string) { leave(server, reason) })
	onTerm(server)
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: goplugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         goplugin.PluginSet{wire.Service: &handler{server: server}},
		Logger:          newPluginLogger(os.Stderr),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(append(opts, wire.ServerOptions()...), grpc.StatsHandler(life))...)
		},
	})
	settle(server)
}

// leave ends the process of a host that is gone. Its sessions have ended with
// the connection; they get a moment to settle.
func leave(server *wire.Server, reason string) {
	slog.Warn("the plugin ends", "reason", reason)
	settle(server)
	removeSocket(os.Getenv(goplugin.EnvUnixSocketDir))
	os.Exit(1)
}

// removeSocket removes the directory that the host made for this process's
// socket, which a host that was killed could not.
func removeSocket(dir string) {
	if strings.HasPrefix(filepath.Base(dir), "plugin-dir") {
		os.RemoveAll(dir)
	}
}

func settle(server *wire.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	if err := server.Settled(ctx); err != nil {
		slog.Warn("the session did not settle in time", "error", err)
	}
}

func onTerm(server *wire.Server) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	go func() {
		<-term
		server.Stop()
		settle(server)
		time.Sleep(flushTime)
		os.Exit(0)
	}()
}

// handler plugs the server into go-plugin.
type handler struct {
	goplugin.NetRPCUnsupportedPlugin
	server *wire.Server
}

func (h *handler) GRPCServer(_ *goplugin.GRPCBroker, g *grpc.Server) error {
	h.server.Register(g)
	return nil
}

func (h *handler) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin does not dial")
}
