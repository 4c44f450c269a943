package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// row is a record as the host got it.
type row struct {
	stream    sdk.Stream
	run       uint64
	position  int64
	timestamp int64
	kind      uint8
	key       []byte
	value     []byte
	headers   []header
}

type header struct {
	name  string
	value []byte
}

// host is a small host: it starts what it is told about, checks every batch
// against the rules of the source stream, keeps the rows and commits.
type host struct {
	t      *testing.T
	name   string
	limits sdk.Limits
	// commit: commit each span at once. start: start what is assigned.
	commit, start bool
	// stuck: Revoking never drops, but waits for its context.
	stuck bool
	// onBatch gets the rows of a batch before they are committed.
	// brokersGo: a commit may fail because there is no broker for a while.
	brokersGo bool
	onBatch   func([]row)
	// extraLog also gets what the source logs.
	extraLog io.Writer
	// onRevoking decides what happens on a revoke; nil: drop at once.
	onRevoking func(runs []uint64)

	mu       sync.Mutex
	changed  chan struct{}
	waiting  int // WaitCredit calls that found none
	reader   sdk.Reader
	credit   int64
	nextRun  uint64
	runs     map[uint64]*hostRun
	assigned []sdk.Assignment
	rows     []row
	batches  int
	empty    int // batches without a row
	sizes    []size
	// of all spans
	compressed, expanded int64
	lost                 []uint64
	revoked              []uint64
	gaps                 []sdk.Gap
	cursors              []sdk.Cursor
	topics               [][]sdk.Topic
	ends                 map[sdk.Stream]int64
	failed               []error
	errs                 []error // rules that were broken
}

type size struct{ rows, bytes int }

type hostRun struct {
	assigned, stream sdk.Stream
	from, next       int64
	over             bool
}

// runNumbers are never used again, in any host of the test binary.
var runNumbers struct {
	sync.Mutex
	n uint64
}

func newRun() uint64 {
	runNumbers.Lock()
	defer runNumbers.Unlock()
	runNumbers.n++
	return runNumbers.n
}

func newHost(t *testing.T) *host {
	return &host{
		t: t, name: "host", limits: sdk.DefaultLimits, commit: true, start: true, credit: 64 << 20,
		changed: make(chan struct{}), runs: make(map[uint64]*hostRun), ends: make(map[sdk.Stream]int64),
	}
}

// open opens a source for the host and closes it when the test ends.
func (h *host) open(set Settings) *host {
	h.t.Helper()
	log := testLog(h.t, h.name)
	if h.extraLog != nil {
		log = slog.New(slog.NewTextHandler(h.extraLog, nil))
	}
	r, err := open(&set, log, h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.mu.Lock()
	h.reader = r
	h.notify()
	h.mu.Unlock()
	h.t.Cleanup(func() { h.close() })
	return h
}

func (h *host) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if err := h.reader.Close(ctx); err != nil {
		h.t.Errorf("%s: close: %v", h.name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, err := range h.errs {
		h.t.Errorf("%s: %v", h.name, err)
	}
	h.errs = nil
}

func (h *host) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// waitFor is how long a test waits for what must come.
const waitFor = 90 * time.Second

// until waits for a condition on the host.
func (h *host) until(what string, ok func() bool) {
	h.t.Helper()
	deadline := time.After(waitFor)
	for {
		h.mu.Lock()
		done, changed := ok(), h.changed
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			h.mu.Lock()
			defer h.mu.Unlock()
			h.t.Fatalf("%s: no %s after %v: %d rows, assigned %v, gaps %v, lost %v, revoked %v, failed %v, broken rules %v", h.name, what, waitFor, len(h.rows), h.assigned, h.gaps, h.lost, h.revoked, h.failed, h.errs)
		}
	}
}

func (h *host) untilRows(n int) []row {
	h.t.Helper()
	h.until(fmt.Sprintf("%d rows", n), func() bool { return len(h.rows) >= n })
	return h.got()
}

// untilAt waits until a stream was delivered up to a position.
func (h *host) untilAt(topic string, part int32, next int64) {
	h.t.Helper()
	h.until(fmt.Sprintf("%s/%d at %d", topic, part, next), func() bool {
		for _, r := range h.runs {
			if r.stream.Topic == topic && r.stream.Partition == part && r.next >= next {
				return true
			}
		}
		return false
	})
}

func (h *host) got() []row {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.rows)
}

func (h *host) grant(n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.credit += n
	h.notify()
}

func (h *host) broken(format string, args ...any) {
	h.errs = append(h.errs, fmt.Errorf(format, args...))
}

// Limits implements sdk.Events.
func (h *host) Limits() sdk.Limits { return h.limits }

// WaitCredit implements sdk.Events.
func (h *host) WaitCredit(ctx context.Context) (int64, error) {
	for counted := false; ; {
		h.mu.Lock()
		credit, changed := h.credit, h.changed
		if credit <= 0 && !counted {
			h.waiting++
			counted = true
			h.notify()
			changed = h.changed
		}
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
func (h *host) Batch(ctx context.Context, b *sdk.Batch) error {
	h.mu.Lock()
	h.credit -= b.Bytes()
	h.batches++
	before := len(h.rows)
	h.take(b)
	if h.onBatch != nil {
		h.onBatch(h.rows[before:])
	}
	marks := make([]sdk.Mark, 0, len(b.Spans))
	for _, s := range b.Spans {
		marks = append(marks, sdk.Mark{Stream: s.Stream, Run: s.Run, Next: s.Next})
	}
	h.notify()
	reader, commit := h.reader, h.commit
	h.mu.Unlock()
	h.t.Logf("%s: batch of %d rows, spans %v", h.name, b.Frame.NumRecords(), b.Spans)
	b.Release()
	if commit {
		for _, err := range reader.Commit(ctx, marks) {
			if h.brokersGo && sdk.KindOf(err) == sdk.KindRetryable {
				continue // the next batch's commit says more
			}
			if err != nil && sdk.KindOf(err) != sdk.KindFenced && ctx.Err() == nil {
				h.t.Errorf("%s: %v", h.name, err)
			}
		}
	}
	return nil
}

// take checks a batch and keeps its rows.
func (h *host) take(b *sdk.Batch) {
	v := b.Frame
	spans := make(map[sdk.Stream]sdk.Span)
	for _, s := range b.Spans {
		if _, twice := spans[s.Stream]; twice {
			h.broken("two spans of %s in one batch", s.Stream)
		}
		spans[s.Stream] = s
		h.takeSpan(s)
	}
	if v.NumRecords() == 0 {
		h.empty++
	}
	for _, c := range b.Cursors {
		if s, ok := spans[c.Stream]; !ok || c.Position < s.From || c.Position > s.Next {
			h.broken("cursor %v is in no span of %v", c, b.Spans)
		}
	}
	h.cursors = append(h.cursors, b.Cursors...)
	h.sizes = append(h.sizes, size{v.NumRecords(), v.Len()})
	done := make(map[sdk.Stream]bool)
	var last row
	for i := range v.NumRecords() {
		x := rowAt(v, i)
		s, ok := spans[x.stream]
		if !ok || x.position < s.From || x.position >= s.Next {
			h.broken("row %d of %s at %d lies in no span of %v", i, x.stream, x.position, b.Spans)
		}
		if i > 0 && last.stream != x.stream {
			done[last.stream] = true
		}
		if done[x.stream] || i > 0 && last.stream == x.stream && x.position <= last.position {
			h.broken("row %d of %s at %d is not grouped and ascending", i, x.stream, x.position)
		}
		x.run, last = s.Run, x
		h.rows = append(h.rows, x)
	}
}

func (h *host) takeSpan(s sdk.Span) {
	r := h.runs[s.Run]
	switch {
	case r == nil || r.stream != s.Stream:
		h.broken("span %v of a run that was not started", s)
		return
	case r.over:
		h.broken("span %v after the run was dropped", s)
	case s.From != r.next || s.Next < s.From:
		h.broken("span %v does not begin at %d, where the run is", s, r.next)
	}
	r.next = s.Next
	h.compressed += s.CompressedBytes
	h.expanded += s.ExpandedBytes
}

// Assigned implements sdk.Events.
func (h *host) Assigned(ctx context.Context, list []sdk.Assignment) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.assigned = append(h.assigned, list...)
	h.notify()
	if h.start {
		go h.startThese(list)
	}
	return nil
}

// startThese starts streams as a host does: at the committed position of the
// same incarnation, else where Initial says, with the decision recorded
// before it.
func (h *host) startThese(list []sdk.Assignment) {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	h.until("reader", func() bool { return h.reader != nil })
	for _, a := range list {
		run, from := newRun(), a.Committed
		if from < 0 || a.CommittedIncarnation != a.Stream.Incarnation {
			got, err := h.reader.Resolve(ctx, []sdk.Query{{Stream: a.Stream, At: a.Initial}})
			if err != nil {
				h.t.Logf("%s: resolve: %v", h.name, err)
				return
			}
			from = got[0].Position
			if err := h.reader.Commit(ctx, []sdk.Mark{{Stream: a.Stream, Run: run, Next: from}}); err != nil {
				h.t.Logf("%s: commit before start: %v", h.name, err)
				return
			}
		}
		h.startAt(a.Stream, run, from)
	}
}

func (h *host) startAt(s sdk.Stream, run uint64, from int64) error {
	return h.startAs(sdk.Start{Stream: s, Run: run, Position: from})
}

func (h *host) startAs(st sdk.Start) error {
	h.mu.Lock()
	for _, r := range h.runs {
		if r.assigned == st.Stream {
			r.over = true
		}
	}
	h.runs[st.Run] = &hostRun{assigned: st.Stream, stream: st.Name(), from: st.Position, next: st.Position}
	h.mu.Unlock()
	err := h.reader.Start(context.Background(), []sdk.Start{st})
	if err != nil {
		h.t.Logf("%s: start: %v", h.name, err)
	}
	return err
}

// Revoking implements sdk.Events.
func (h *host) Revoking(ctx context.Context, runs []uint64, _ time.Time) error {
	h.mu.Lock()
	h.revoked = append(h.revoked, runs...)
	on, stuck := h.onRevoking, h.stuck
	h.notify()
	h.mu.Unlock()
	if stuck {
		<-ctx.Done()
		return ctx.Err()
	}
	if on != nil {
		on(runs)
	}
	return h.drop(ctx, runs)
}

func (h *host) drop(ctx context.Context, runs []uint64) error {
	err := h.reader.Drop(ctx, runs)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range runs {
		h.runs[id].over = true
	}
	return err
}

// Lost implements sdk.Events.
func (h *host) Lost(runs []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range runs {
		if r := h.runs[id]; r == nil {
			h.broken("run %d was lost but not started", id)
		} else {
			r.over = true
		}
	}
	h.lost = append(h.lost, runs...)
	h.notify()
}

// Gap implements sdk.Events.
func (h *host) Gap(g sdk.Gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gaps = append(h.gaps, g)
	h.notify()
}

// Lag implements sdk.Events.
func (h *host) Lag(lags []sdk.Lag) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range lags {
		h.ends[l.Stream] = l.End
	}
	h.notify()
}

// Topics implements sdk.Events.
func (h *host) Topics(topics []sdk.Topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topics = append(h.topics, topics)
	h.notify()
}

// Ended implements sdk.Events.
func (h *host) Ended([]uint64) { h.t.Error("a Kafka stream has no end") }

// Fail implements sdk.Events.
func (h *host) Fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failed = append(h.failed, err)
	h.notify()
}

// testLog writes to the test's log.
func testLog(t testing.TB, name string) *slog.Logger {
	w := &logWriter{t: t, done: make(chan struct{})}
	t.Cleanup(func() { w.stop() })
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo})).With("host", name)
}

type logWriter struct {
	t    testing.TB
	mu   sync.Mutex
	over bool
	done chan struct{}
}

func (w *logWriter) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
}

func (w *logWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.t.Log(string(bytes.TrimSpace(b)))
	}
	return len(b), nil
}
