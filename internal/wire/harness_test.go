package wire

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// serveFor serves register's services and returns a connection to them, over
// memory but with the product's options on both sides.
func serveFor(t *testing.T, register func(grpc.ServiceRegistrar)) *grpc.ClientConn {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	g := grpc.NewServer(ServerOptions()...)
	register(g)
	var wg sync.WaitGroup
	wg.Add(1)
	go func() { defer wg.Done(); g.Serve(l) }()
	opts := append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///memory", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); g.Stop(); wg.Wait() })
	return conn
}

// clientOf dials a plugin that is served as a process would serve it.
func clientOf(t *testing.T, p sdk.Plugin) *Client {
	t.Helper()
	s := NewServer(p, Options{})
	t.Cleanup(s.Wait) // after the server has been stopped
	conn := serveFor(t, s.Register)
	c, err := Dial(t.Context(), conn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var (
	orders = sdk.Stream{Cluster: "c", Topic: "orders", Incarnation: "i", Partition: 3}
	people = sdk.Stream{Cluster: "c", Topic: "p\xff\x00", Partition: 0}
)

// batchOf makes n records of stream s from position from, each with a value of
// size bytes.
func batchOf(t testing.TB, s sdk.Stream, from int64, n, size int) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	k := b.Stream(s)
	for i := range n {
		v := make([]byte, size)
		for j := range v {
			v[j] = byte(i + j)
		}
		b.Append(k, &frame.Record{Position: from + int64(i), Value: v, TimestampMS: -1})
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: make([]byte, 16*n), Spans: []sdk.Span{{Stream: s, From: from, Next: from + int64(n), Run: 7,
		Epoch: sdk.Epoch{Number: 2, Token: [16]byte{1}}, ExpandedBytes: int64(n * size)}}}
}

// silent fails the test if ch says something before long.
func silent[T any](t *testing.T, ch <-chan T, what string) {
	t.Helper()
	select {
	case <-ch:
		t.Fatal(what)
	case <-time.After(50 * time.Millisecond):
	}
}

// receive fails the test if ch says nothing for too long.
func receive[T any](t *testing.T, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("no %s", what)
		panic("unreachable")
	}
}
