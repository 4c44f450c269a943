package source

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// host is a small host with a sink that keeps everything at once: it starts
// what it is told about where the sink's rows end, holds every batch to the
// rules, and commits. A new source can be opened after the old one was closed.
type host struct {
	t      testing.TB
	limits sdk.Limits

	mu      sync.Mutex
	changed chan struct{}
	reader  sdk.Reader
	credit  int64
	lastRun uint64
	runs    map[uint64]*hostRun
	store   map[sdk.Stream]*kept
	// holding: nothing is called durable.
	holding bool
	most    int // streams at a time
	// mostHeld is how many streams the source lets the host carry; 0: as always.
	mostHeld int
	ends     map[sdk.Stream]int64
	ended    map[sdk.Stream]bool
	gaps     []sdk.Gap
	failed   error
	log      bytes.Buffer
}

type hostRun struct {
	stream sdk.Stream
	next   int64
}

// kept is what the sink has of a stream.
type kept struct {
	rows []frame.Record
	next int64
}

func newHost(t testing.TB) *host {
	return &host{t: t, limits: sdk.DefaultLimits, credit: 1 << 40, changed: make(chan struct{}), store: map[sdk.Stream]*kept{}}
}

// open opens a source; the settings are JSON without cluster and path.
func (h *host) open(dir, settings string) *host {
	h.t.Helper()
	src := New(slog.New(slog.NewTextHandler(lockedWriter{h}, nil)))
	if h.mostHeld > 0 {
		src.mostHeld = h.mostHeld
	}
	if _, diags := src.Configure(sdk.NewSettings(fmt.Appendf(nil, `{"cluster":"c","path":%q,"poll_interval":"10ms"%s}`, dir, settings))); diags.HasErrors() {
		h.t.Fatal(diags)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs, h.ends, h.ended, h.failed = map[uint64]*hostRun{}, map[sdk.Stream]int64{}, map[sdk.Stream]bool{}, nil
	r, err := src.Open(context.Background(), h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.reader = r
	h.t.Cleanup(func() { r.Close(context.Background()) })
	h.notify()
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
			h.t.Fatalf("no %s in time; failed: %v\n%s%s", what, failed, h.show(), log)
		}
	}
}

// await waits until the sink has the texts, in order, of the topic's streams.
func (h *host) await(topic string, want ...string) {
	h.t.Helper()
	h.until(fmt.Sprintf("%q of %s", want, topic), func() bool { return slices.Equal(h.texts(topic), want) })
}

// texts are the values of a topic's rows; its streams stand in the order of
// their first rows' values. The host is locked.
func (h *host) texts(topic string) (out []string) {
	for s, k := range h.store {
		if s.Topic == topic {
			for _, r := range k.rows {
				out = append(out, string(r.Value))
			}
		}
	}
	return out
}

func (h *host) show() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for s, k := range h.store {
		fmt.Fprintf(&b, "%s: %d rows, next %d\n", s, len(k.rows), k.next)
	}
	return b.String()
}

func (h *host) awaitFailure() error {
	h.t.Helper()
	h.until("failure", func() bool { return h.failed != nil })
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed
}

func (h *host) awaitLog(text string) {
	h.t.Helper()
	h.until("log line "+text, func() bool { return strings.Contains(h.log.String(), text) })
}

// Limits implements sdk.Events.
func (h *host) Limits() sdk.Limits { return h.limits }

// WaitCredit implements sdk.Events.
func (h *host) WaitCredit(ctx context.Context) (int64, error) {
	for {
		h.mu.Lock()
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

// Batch implements sdk.Events: what comes is kept.
func (h *host) Batch(_ context.Context, b *sdk.Batch) error {
	defer b.Release()
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	h.credit -= b.Bytes()
	if len(b.Spans) != 1 {
		h.t.Errorf("a batch with %d spans", len(b.Spans))
	}
	s := b.Spans[0]
	r := h.runs[s.Run]
	if r == nil || r.stream != s.Stream || r.next != s.From || s.Next <= s.From {
		h.t.Errorf("span [%d,%d) of %s, run %d, does not fit %+v", s.From, s.Next, s.Stream, s.Run, r)
		return nil
	}
	r.next = s.Next
	h.keep(h.store[s.Stream], s, b.Frame)
	if !h.holding {
		h.commit(h.reader, sdk.Mark{Stream: s.Stream, Run: s.Run, Next: s.Next})
	}
	return nil
}

func (h *host) keep(k *kept, s sdk.Span, v frame.View) {
	for i := range v.NumRecords() {
		var rec frame.Record
		v.Record(i, &rec)
		if rec.Position < s.From || rec.Position >= s.Next || len(k.rows) > 0 && rec.Position <= k.rows[len(k.rows)-1].Position {
			h.t.Errorf("position %d of %s is out of place in [%d,%d)", rec.Position, s.Stream, s.From, s.Next)
		}
		rec.Key, rec.Value = bytes.Clone(rec.Key), bytes.Clone(rec.Value)
		for j := range rec.Headers {
			rec.Headers[j].Value = bytes.Clone(rec.Headers[j].Value)
		}
		k.rows = append(k.rows, rec)
	}
	k.next = s.Next
}

// commit tells the source, from another goroutine, as a host does.
func (h *host) commit(r sdk.Reader, m sdk.Mark) {
	go func() { r.Commit(context.Background(), []sdk.Mark{m}) }()
}

// commitAll says that everything is durable.
func (h *host) commitAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, r := range h.runs {
		h.commit(h.reader, sdk.Mark{Stream: r.stream, Run: id, Next: r.next})
	}
}

func contains(s, part string) bool { return strings.Contains(s, part) }

// Assigned implements sdk.Events.
func (h *host) Assigned(_ context.Context, as []sdk.Assignment) error {
	h.mu.Lock()
	var starts []sdk.Start
	for _, a := range as {
		if a.Committed != sdk.NoPosition {
			h.t.Errorf("%s comes with position %d", a.Stream, a.Committed)
		}
		starts = append(starts, h.begin(a.Stream))
	}
	reader := h.reader
	h.most = max(h.most, len(h.runs))
	h.mu.Unlock()
	go func() {
		if reader == nil { // Open has not returned yet
			h.until("reader", func() bool { reader = h.reader; return reader != nil })
		}
		if err := reader.Start(context.Background(), starts); err != nil && sdk.KindOf(err) != sdk.KindFenced {
			h.t.Errorf("start: %v", err)
		}
	}()
	return nil
}

func (h *host) begin(s sdk.Stream) sdk.Start {
	h.lastRun++
	if h.store[s] == nil {
		h.store[s] = &kept{}
	}
	for id, r := range h.runs {
		if r.stream == s {
			delete(h.runs, id)
		}
	}
	at := h.store[s].next
	h.runs[h.lastRun] = &hostRun{stream: s, next: at}
	return sdk.Start{Stream: s, Run: h.lastRun, Position: at}
}

// Revoking implements sdk.Events.
func (h *host) Revoking(ctx context.Context, runs []uint64, _ time.Time) error {
	err := h.reader.Drop(ctx, runs)
	h.Lost(runs)
	return err
}

// Lost implements sdk.Events.
func (h *host) Lost(runs []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	for _, id := range runs {
		delete(h.runs, id)
	}
}

// Gap implements sdk.Events.
func (h *host) Gap(g sdk.Gap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	h.gaps = append(h.gaps, g)
}

// Lag implements sdk.Events.
func (h *host) Lag(ls []sdk.Lag) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	for _, l := range ls {
		if _, told := h.ends[l.Stream]; !told {
			h.ends[l.Stream] = l.End
		}
	}
}

// caughtUp is how a host decides that it has everything. The host is locked.
func (h *host) caughtUp() bool {
	for _, r := range h.runs {
		end, told := h.ends[r.stream]
		if !h.ended[r.stream] && (!told || r.next < end) {
			return false
		}
	}
	return len(h.runs) > 0
}

// Ended implements sdk.Events.
func (h *host) Topics([]sdk.Topic) {}

func (h *host) Ended(runs []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	for _, id := range runs {
		if r := h.runs[id]; r != nil {
			h.ended[r.stream] = true
		}
	}
}

// Fail implements sdk.Events.
func (h *host) Fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.notify()
	h.failed = err
}

// put writes a file, add adds to it.
func put(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func add(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
