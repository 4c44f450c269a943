package source

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// host is a small host with a sink that keeps everything at once. It starts
// the stream where the sink's rows end, or at from.
type host struct {
	t      testing.TB
	limits sdk.Limits

	mu       sync.Mutex
	changed  chan struct{}
	reader   sdk.Reader
	credit   int64
	waiting  int // WaitCredit calls that found none
	lastRun  uint64
	run      sdk.Start
	next     int64 // of the run
	rows     []string
	assigned int
	hold     bool // do not start what is assigned
	gaps     []sdk.Gap
	failed   error
	log      bytes.Buffer
}

var theStream = sdk.Stream{Cluster: "c", Topic: "s"}

func newHost(t testing.TB) *host {
	return &host{t: t, limits: sdk.DefaultLimits, credit: 1 << 40, changed: make(chan struct{})}
}

// open opens a source; settings are JSON without cluster and stream.
func (h *host) open(settings string, args ...any) *host {
	h.t.Helper()
	src := New(slog.New(slog.NewTextHandler(lockedWriter{h}, nil)))
	set := `{"cluster":"c","stream":"s",` + fmt.Sprintf(settings, args...) + `}`
	if _, diags := src.Configure(sdk.NewSettings([]byte(set))); diags.HasErrors() {
		h.t.Fatal(diags)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r, err := src.Open(context.Background(), h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.reader, h.failed = r, nil
	h.notify()
	h.t.Cleanup(func() { r.Close(context.Background()) })
	return h
}

func (h *host) close() { h.reader.Close(context.Background()) }

type lockedWriter struct{ h *host }

func (w lockedWriter) Write(b []byte) (int, error) {
	w.h.mu.Lock()
	defer w.h.mu.Unlock()
	w.h.notify()
	return w.h.log.Write(b)
}

func (h *host) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits for a condition, which is asked with the host locked.
func (h *host) until(what string, ok func() bool) {
	h.t.Helper()
	deadline := time.After(time.Minute)
	for {
		h.mu.Lock()
		done, changed, failed, log := ok(), h.changed, h.failed, h.log.String()
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			h.t.Fatalf("no %s in time; failed: %v; rows %.300q\n%s", what, failed, h.rows, log)
		}
	}
}

func (h *host) await(want ...string) {
	h.t.Helper()
	h.until(fmt.Sprintf("%.300q", want), func() bool { return slices.Equal(h.rows, want) })
}

func (h *host) awaitLog(text string) {
	h.t.Helper()
	h.until("log line "+text, func() bool { return strings.Contains(h.log.String(), text) })
}

func (h *host) set(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.notify()
}

// Limits implements sdk.Events.
func (h *host) Limits() sdk.Limits { return h.limits }

// WaitCredit implements sdk.Events.
func (h *host) WaitCredit(ctx context.Context) (int64, error) {
	for first := true; ; first = false {
		h.mu.Lock()
		if h.credit <= 0 && first {
			h.waiting++
			h.notify()
		}
		credit, changed := h.credit, h.changed
		h.mu.Unlock()
		if credit > 0 {
			return credit, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// Batch implements sdk.Events.
func (h *host) Batch(_ context.Context, b *sdk.Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	h.credit -= b.Bytes()
	s := b.Spans[0]
	if s.Run != h.run.Run || s.From != h.next || s.Stream != theStream || int(s.Next-s.From) != b.Frame.NumRecords() {
		h.t.Errorf("span %+v does not fit run %d, which is at %d", s, h.run.Run, h.next)
	}
	for i := range b.Frame.NumRecords() {
		if b.Frame.Position(i) != s.From+int64(i) {
			h.t.Errorf("position %d in span %+v", b.Frame.Position(i), s)
		}
		h.rows = append(h.rows, string(b.Frame.Value(i)))
	}
	h.next = s.Next
	return nil
}

// Assigned implements sdk.Events.
func (h *host) Assigned(_ context.Context, as []sdk.Assignment) error {
	h.set(func() { h.assigned++ })
	if len(as) != 1 || as[0].Stream != theStream || as[0].Committed != sdk.NoPosition {
		h.t.Errorf("assigned %+v", as)
	}
	if !h.hold {
		go h.start(-1)
	}
	return nil
}

// start begins a run; at -1 where the last one ended.
func (h *host) start(at int64) {
	h.until("reader", func() bool { return h.reader != nil })
	h.mu.Lock()
	if at < 0 {
		at = h.next
	}
	h.mu.Unlock()
	h.drop()
	h.mu.Lock()
	h.lastRun++
	h.run, h.next = sdk.Start{Stream: theStream, Run: h.lastRun, Position: at}, at
	reader, run := h.reader, h.run
	h.mu.Unlock()
	if err := reader.Start(context.Background(), []sdk.Start{run}); err != nil {
		h.t.Errorf("start: %v", err)
	}
}

func (h *host) drop() {
	h.mu.Lock()
	reader, run := h.reader, h.run.Run
	h.mu.Unlock()
	if err := reader.Drop(context.Background(), []uint64{run}); err != nil {
		h.t.Errorf("drop: %v", err)
	}
	h.set(func() { h.run.Run = 0 })
}

// commit says that everything below next is durable.
func (h *host) commit(next int64) {
	h.mu.Lock()
	m := sdk.Mark{Stream: theStream, Run: h.run.Run, Next: next}
	h.mu.Unlock()
	for _, err := range h.reader.Commit(context.Background(), []sdk.Mark{m}) {
		h.t.Errorf("commit: %v", err)
	}
}

// The rest of sdk.Events.
func (h *host) Revoking(context.Context, []uint64, time.Time) error { return nil }
func (h *host) Lost([]uint64)                                       {}
func (h *host) Gap(g sdk.Gap)                                       { h.set(func() { h.gaps = append(h.gaps, g) }) }
func (h *host) Lag([]sdk.Lag)                                       {}
func (h *host) Topics([]sdk.Topic)                                  {}

func (h *host) Ended([]uint64) {}
func (h *host) Fail(err error) { h.set(func() { h.failed = err }) }

// client is a peer in a test's hands.
type client struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

// dial connects, as soon as somebody listens.
func dial(t testing.TB, network, address string) *client {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		c, err := net.Dial(network, address)
		if err == nil {
			t.Cleanup(func() { c.Close() })
			return &client{c, t, bufio.NewReader(c)}
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) expect(line string) {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if got, err := c.in.ReadString('\n'); err != nil || got != line+"\n" {
		c.t.Fatalf("got %q, %v, want %q", got, err, line)
	}
}

// expectEnd waits until the other side has closed.
func (c *client) expectEnd() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	for {
		if _, err := c.in.ReadByte(); err != nil {
			if n, ok := err.(net.Error); ok && n.Timeout() {
				c.t.Fatal("the connection stays open")
			}
			return
		}
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
