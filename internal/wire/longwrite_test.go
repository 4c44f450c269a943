package wire

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/twg-io/twg/sdk"
)

// inBubble serves what plug makes and calls f with its client, all in virtual
// time.
func inBubble(t *testing.T, plug func() sdk.Plugin, f func(*testing.T, *Client)) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 20)
		g := grpc.NewServer(ServerOptions()...)
		s := NewServer(plug(), Options{})
		s.Register(g)
		go g.Serve(l)
		conn, err := grpc.NewClient("passthrough:///memory", append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Dial(t.Context(), conn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		f(t, c)
		conn.Close()
		g.Stop()
		s.Wait()
		synctest.Wait()
	})
}

func TestAWriteOfAMinuteIsNoSilence(t *testing.T) {
	sink := sinkThat(func(ctx context.Context, b *sdk.Batch) (sdk.Receipt, error) {
		time.Sleep(time.Minute)
		return sdk.AllDurable(0, b), ctx.Err()
	})
	inBubble(t, func() sdk.Plugin { return sink }, func(t *testing.T, c *Client) {
		ses, receipts, failed := sessionFor(1)
		w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), numbered(t, 1, 10)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		select {
		case <-receipts:
		case err := <-failed:
			t.Fatalf("after %v: %v", time.Since(began), err)
		}
		if d := time.Since(began); d < time.Minute {
			t.Errorf("answered after %v", d)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A Stop whose deadline passes ends a Write that hangs, and the sink is closed
// with a context that has ended.
func TestStopsDeadlineEndsAWriteThatHangs(t *testing.T) {
	var s *stepSink
	plug := func() sdk.Plugin {
		s = newStepSink()
		return &stepSinkNoFlush{s}
	}
	inBubble(t, plug, func(t *testing.T, c *Client) {
		ses, _, _ := sessionFor(1)
		w, err := c.Sink(sdk.Capabilities{}).Open(t.Context(), ses)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(t.Context(), numbered(t, 1, 10)); err != nil {
			t.Fatal(err)
		}
		<-s.writes
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		err = w.Close(ctx)
		if d := time.Since(began); d < 29*time.Second || d > 31*time.Second {
			t.Errorf("closed after %v", d)
		}
		if err == nil || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("close: %v", err)
		}
		if err := <-s.closed; err == nil {
			t.Error("the sink was closed with a live context")
		}
	})
}
