package pipeline

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/twg-io/twg/internal/wire"
	"github.com/twg-io/twg/sdk"
)

// wired serves a plugin as a process would, over memory, and returns the
// host's client of it.
func wired(t *testing.T, p sdk.Plugin) *wire.Client {
	t.Helper()
	server := wire.NewServer(p, wire.Options{})
	l := bufconn.Listen(1 << 20)
	g := grpc.NewServer(wire.ServerOptions()...)
	server.Register(g)
	var wg sync.WaitGroup
	wg.Go(func() { g.Serve(l) })
	conn, err := grpc.NewClient("passthrough:///memory", append(wire.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); g.Stop(); wg.Wait(); server.Wait() })
	c, err := wire.Dial(t.Context(), conn, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
