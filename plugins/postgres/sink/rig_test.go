//go:build services

package sink

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/test/services/postgres"
)

const patience = 20 * time.Second

var (
	streamA = sdk.Stream{Cluster: "c1", Topic: "orders", Incarnation: "i1", Partition: 0}
	streamB = sdk.Stream{Cluster: "c1", Topic: "orders", Incarnation: "i1", Partition: 1}
)

// shared is the server of the tests that do no harm to it.
var shared *postgres.Server

func TestMain(m *testing.M) {
	var err error
	if shared, err = postgres.Start(context.Background(), postgres.Config{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	shared.Close()
	os.Exit(code)
}

// ownServer starts a server for one test.
func ownServer(t *testing.T) *postgres.Server {
	s, err := postgres.Start(t.Context(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// rig is a database and what a test does to it.
type rig struct {
	t   testing.TB
	dsn string
	set string // more settings, with a comma before each
}

var databases atomic.Int64

func newRig(t testing.TB, s *postgres.Server) *rig {
	name := fmt.Sprintf("t%d", databases.Add(1))
	r := &rig{t: t, dsn: s.DSN("")}
	r.exec("create database " + name)
	r.dsn = s.DSN(name)
	return r
}

func (r *rig) fatal(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// connect opens a connection that ends with the test.
func (r *rig) connect() *pgx.Conn {
	r.t.Helper()
	conn, err := pgx.Connect(context.Background(), r.dsn)
	r.fatal(err)
	r.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func (r *rig) exec(statements ...string) {
	r.t.Helper()
	conn, err := pgx.Connect(context.Background(), r.dsn)
	r.fatal(err)
	defer conn.Close(context.Background())
	for _, s := range statements {
		_, err := conn.Exec(context.Background(), s)
		r.fatal(err)
	}
}

func (r *rig) number(query string) (n int64) {
	r.t.Helper()
	conn, err := pgx.Connect(context.Background(), r.dsn)
	r.fatal(err)
	defer conn.Close(context.Background())
	r.fatal(conn.QueryRow(context.Background(), query).Scan(&n))
	return n
}

func (r *rig) rows() int64 { return r.number("select count(*) from raw") }

// sink returns a configured sink: one host's plugin process.
func (r *rig) sink() *Sink {
	r.t.Helper()
	s := New()
	text := fmt.Sprintf(`{"dsn":%q,"table":"raw","connect_patience":"2s","linger":"0s"%s}`, r.dsn, r.set)
	if _, diags := s.Configure(sdk.NewSettings([]byte(text))); diags.HasErrors() {
		r.t.Fatalf("configure: %+v", diags)
	}
	r.t.Cleanup(func() {
		for _, o := range []*opened{s.raw.conn, s.lanes.conn, s.spare.take()} {
			if o != nil {
				o.conn.Close(context.Background())
			}
		}
	})
	return s
}

func (r *rig) acquire(s *Sink, owner string, streams ...sdk.Stream) []sdk.Epoch {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	got, err := s.Acquire(ctx, owner, streams)
	r.fatal(err)
	var out []sdk.Epoch
	for _, a := range got {
		out = append(out, a.Epoch)
	}
	return out
}

func (r *rig) held(s *Sink, k sdk.Stream) string {
	r.t.Helper()
	got, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{k})
	r.fatal(err)
	return fmt.Sprint(got[0].Set.Held())
}

// session is an open session and what it has said.
type session struct {
	sdk.Writer
	t  testing.TB
	id uint64

	mu       sync.Mutex
	moved    chan struct{}
	outcomes map[uint64][]sdk.Outcome
	failed   error
	seq      uint64
}

var sessions atomic.Uint64

func (r *rig) open(s *Sink) *session {
	r.t.Helper()
	ses, err := r.tryOpen(s)
	r.fatal(err)
	return ses
}

func (r *rig) tryOpen(s *Sink) (*session, error) {
	ses := &session{t: r.t, id: sessions.Add(1), moved: make(chan struct{}), outcomes: map[uint64][]sdk.Outcome{}}
	w, err := s.Open(context.Background(), sdk.Session{ID: ses.id, Pipeline: "test", Owner: "test", Limits: sdk.DefaultLimits,
		Report: func(rc sdk.Receipt) {
			ses.change(func() { ses.outcomes[rc.Seq] = append(ses.outcomes[rc.Seq], rc.Outcomes...) })
		},
		Fail: func(err error) { ses.change(func() { ses.failed = err }) }})
	ses.Writer = w
	r.t.Cleanup(func() {
		if w != nil {
			ses.abort()
		}
	})
	return ses, err
}

func (s *session) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.moved)
	s.moved = make(chan struct{})
}

// abort ends the session as a host does that gives it up, and waits until its
// goroutines have ended.
func (s *session) abort() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Close(ctx)
	<-s.Writer.(*writer).done
}

func (s *session) send(b *sdk.Batch) uint64 {
	s.seq++
	c := *b
	c.Seq = s.seq
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Write(ctx, &c); err != nil {
		s.change(func() { s.failed = err })
	}
	return s.seq
}

// until waits for a condition, and reports whether it came true.
func (s *session) until(ok func() bool) bool {
	late := time.After(patience)
	for {
		s.mu.Lock()
		done, moved := ok(), s.moved
		s.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-moved:
		case <-late:
			return false
		}
	}
}

// answer waits for n outcomes of a batch.
func (s *session) answer(seq uint64, n int) []sdk.Outcome {
	s.t.Helper()
	if !s.until(func() bool { return len(s.outcomes[seq]) >= n || s.failed != nil }) {
		s.t.Fatalf("batch %d was not answered", seq)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.outcomes[seq]) < n {
		s.t.Fatalf("the session failed: %v", s.failed)
	}
	return s.outcomes[seq]
}

// said is what was answered so far.
func (s *session) said(seq uint64) []sdk.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcomes[seq]
}

func (s *session) failure() error {
	s.t.Helper()
	if !s.until(func() bool { return s.failed != nil }) {
		s.t.Fatal("the session did not fail")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// deliver sends batches and wants all of them to be durable.
func (s *session) deliver(bs ...*sdk.Batch) {
	s.t.Helper()
	for _, b := range bs {
		seq := s.send(b)
		for _, o := range s.answer(seq, len(b.Spans)) {
			if o.Kind != sdk.Durable {
				s.t.Fatalf("[%d,%d) of %s is %s (%s)", o.From, o.Next, o.Stream, o.Kind, o.Reason)
			}
		}
	}
}

func kinds(os []sdk.Outcome) string {
	var out []string
	for _, o := range os {
		out = append(out, o.Kind.String())
	}
	return strings.Join(out, " ")
}

// piece is what one stream has in a batch.
type piece struct {
	stream     sdk.Stream
	epoch      sdk.Epoch
	from, next int64
	recs       []frame.Record // nil: one for each position
}

func plain(from, next int64) []frame.Record {
	var out []frame.Record
	for p := from; p < next; p++ {
		out = append(out, frame.Record{Position: p, TimestampMS: p, Key: fmt.Appendf(nil, "k%d", p), Value: fmt.Appendf(nil, "v%d", p)})
	}
	return out
}

func batchOf(t testing.TB, pieces ...piece) *sdk.Batch {
	out := &sdk.Batch{}
	var b frame.Builder
	for _, p := range pieces {
		k := b.Stream(p.stream)
		if p.recs == nil {
			p.recs = plain(p.from, p.next)
		}
		for i := range p.recs {
			b.Append(k, &p.recs[i])
		}
		out.Spans = append(out.Spans, sdk.Span{Stream: p.stream, From: p.from, Next: p.next, Run: 1, Epoch: p.epoch})
	}
	buf, err := b.Encode(nil)
	if err == nil {
		out.Frame, err = frame.Open(slices.Clone(buf))
	}
	if err == nil {
		var h recordid.Hasher
		out.IDs, err = h.Fill(nil, out.Frame)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func span(t testing.TB, e sdk.Epoch, from, next int64) *sdk.Batch {
	return batchOf(t, piece{stream: streamA, epoch: e, from: from, next: next})
}

func held(is ...int64) string {
	var out []coverage.Interval
	for i := 0; i < len(is); i += 2 {
		out = append(out, coverage.Interval{From: is[i], Next: is[i+1]})
	}
	return fmt.Sprint(out)
}

// eventually polls what the server knows.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		if ok() {
			return
		}
	}
	t.Fatalf("not in time: %s", what)
}
