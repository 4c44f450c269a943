package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// ears are a host's Events that tests listen to.
type ears struct {
	assigned chan []sdk.Assignment
	batches  chan *sdk.Batch
	other    chan string
	failed   chan error
	revoking func(ctx context.Context, runs []uint64, deadline time.Time) error
	block    chan struct{} // Batch waits for it
}

func newEars() *ears {
	return &ears{assigned: make(chan []sdk.Assignment, 10), batches: make(chan *sdk.Batch, 1000), other: make(chan string, 100), failed: make(chan error, 1)}
}

func (e *ears) Limits() sdk.Limits {
	return sdk.Limits{FrameRecords: 3, FrameBytes: 4, MaxRecordBytes: 5}
}
func (e *ears) WaitCredit(context.Context) (int64, error) { panic("the host's client has its own") }
func (e *ears) Lost(runs []uint64)                        { e.other <- "lost" }
func (e *ears) Gap(sdk.Gap)                               { e.other <- "gap" }
func (e *ears) Lag(l []sdk.Lag)                           { e.other <- "lag " + l[0].Stream.Topic }
func (e *ears) Topics(t []sdk.Topic) {
	e.other <- fmt.Sprintf("topics %v", t)
}
func (e *ears) Ended([]uint64)                                       { e.other <- "ended" }
func (e *ears) Fail(err error)                                       { e.failed <- err }
func (e *ears) Assigned(_ context.Context, a []sdk.Assignment) error { e.assigned <- a; return nil }

func (e *ears) Batch(ctx context.Context, b *sdk.Batch) error {
	if e.block != nil {
		select {
		case <-e.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.batches <- b
	return nil
}

func (e *ears) Revoking(ctx context.Context, runs []uint64, deadline time.Time) error {
	if e.revoking == nil {
		return nil
	}
	return e.revoking(ctx, runs, deadline)
}

// scripted is a source whose every method a test may replace.
type scripted struct {
	describedPlugin
	opened  chan sdk.Events
	mu      sync.Mutex
	calls   []string
	closed  chan error // what Close's context said
	start   func([]sdk.Start) error
	commit  func([]sdk.Mark) []error
	openErr error
}

func newScripted() *scripted {
	return &scripted{describedPlugin: describedPlugin{kind: sdk.KindSource}, opened: make(chan sdk.Events, 1), closed: make(chan error, 1)}
}

func (s *scripted) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *scripted) Open(_ context.Context, ev sdk.Events) (sdk.Reader, error) {
	s.opened <- ev
	return s, s.openErr
}

func (s *scripted) Resolve(_ context.Context, q []sdk.Query) ([]sdk.Resolved, error) {
	if q[0].At == sdk.StartTimestamp {
		return nil, sdk.Errorf(sdk.KindRejected, "resolve", "no timestamps here")
	}
	return []sdk.Resolved{{Stream: q[0].Stream, Position: 12}}, nil
}

func (s *scripted) Start(_ context.Context, st []sdk.Start) error {
	s.note("start")
	if s.start != nil {
		return s.start(st)
	}
	return nil
}

func (s *scripted) Commit(_ context.Context, m []sdk.Mark) []error {
	s.note("commit")
	if s.commit != nil {
		return s.commit(m)
	}
	return nil
}

func (s *scripted) Drop(context.Context, []uint64) error { s.note("drop"); return nil }
func (s *scripted) Close(ctx context.Context) error {
	s.note("close")
	s.closed <- ctx.Err()
	return nil
}

// openScripted opens s over the wire and returns both ends.
func openScripted(t *testing.T, s *scripted, e *ears) (sdk.Reader, sdk.Events) {
	t.Helper()
	r, err := clientOf(t, s).Source().Open(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(ended()) })
	return r, receive(t, s.opened, "open source")
}

func TestSourceCallsCrossTheBoundary(t *testing.T) {
	s, e := newScripted(), newEars()
	s.commit = func(m []sdk.Mark) []error { return []error{nil, sdk.Errorf(sdk.KindFenced, "commit", "stale member")} }
	s.start = func(st []sdk.Start) error {
		return sdk.Errorf(sdk.KindFenced, "start", "%s is not assigned", st[0].Stream)
	}
	r, ev := openScripted(t, s, e)
	if l := ev.Limits(); l != e.Limits() {
		t.Errorf("limits %+v", l)
	}
	if err := ev.Assigned(t.Context(), []sdk.Assignment{{Stream: people, Committed: 4, Initial: sdk.StartLatest}}); err != nil {
		t.Fatal(err)
	}
	if a := receive(t, e.assigned, "assignment"); a[0].Stream != people || a[0].Committed != 4 {
		t.Errorf("assigned %+v", a)
	}
	if got, err := r.Resolve(t.Context(), []sdk.Query{{Stream: people, At: sdk.StartLatest}}); err != nil || got[0].Position != 12 {
		t.Errorf("resolved %v %v", got, err)
	}
	if _, err := r.Resolve(t.Context(), []sdk.Query{{Stream: people, At: sdk.StartTimestamp}}); sdk.KindOf(err) != sdk.KindRejected {
		t.Errorf("resolve a timestamp: %v", err)
	}
	if err := r.Start(t.Context(), []sdk.Start{{Stream: people, Run: 1}}); sdk.KindOf(err) != sdk.KindFenced {
		t.Errorf("start: %v", err)
	}
	errs := r.Commit(t.Context(), []sdk.Mark{{Stream: people, Run: 1, Next: 3}, {Stream: orders, Run: 2, Next: 4}})
	if len(errs) != 2 || errs[0] != nil || sdk.KindOf(errs[1]) != sdk.KindFenced {
		t.Errorf("commit: %v", errs)
	}
	ev.Lag([]sdk.Lag{{Stream: orders}})
	if got := receive(t, e.other, "lag"); got != "lag orders" {
		t.Error(got)
	}
	ev.Topics([]sdk.Topic{{Name: "t", Presence: sdk.TopicAbsent, Reason: "gone"}})
	if got := receive(t, e.other, "topics"); got != fmt.Sprint("topics ", []sdk.Topic{{Name: "t", Presence: sdk.TopicAbsent, Reason: "gone"}}) {
		t.Error(got)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := receive(t, s.closed, "close"); err != nil {
		t.Errorf("closed with a context that says %v", err)
	}
}

// No credit, no batch; with positive credit one may overdraw.
func TestCreditHoldsASourceBack(t *testing.T) {
	s, e := newScripted(), newEars()
	r, ev := openScripted(t, s, e)
	sent := make(chan int, 10)
	go func() {
		for i := range 3 {
			if _, err := ev.WaitCredit(context.Background()); err != nil {
				return
			}
			ev.Batch(context.Background(), batchOf(t, orders, int64(i), 1, 100))
			sent <- i
		}
	}()
	grant := r.(sdk.CreditGranter)
	grant.Grant(1)
	first := receive(t, e.batches, "first batch")
	receive(t, sent, "first batch sent")
	grant.Grant(first.Bytes() - 1) // exactly what was overdrawn: nothing is left
	r.Resolve(t.Context(), []sdk.Query{{Stream: orders, At: sdk.StartLatest}})
	if len(e.batches)+len(sent) > 0 {
		t.Fatal("a batch came without credit")
	}
	grant.Grant(2 * first.Bytes())
	receive(t, e.batches, "second batch")
	receive(t, e.batches, "third batch")
}

// Whatever the host does with batches, it hears of a revocation and its
// commits are served.
func TestRevocationPassesBatchesThatWait(t *testing.T) {
	s, e := newScripted(), newEars()
	e.block = make(chan struct{})
	var r sdk.Reader
	e.revoking = func(ctx context.Context, runs []uint64, deadline time.Time) error {
		if !slices.Equal(runs, []uint64{7, 8}) || time.Until(deadline) > time.Minute || time.Until(deadline) < 30*time.Second {
			t.Errorf("revoking %v until %v", runs, deadline)
		}
		if errs := r.Commit(ctx, []sdk.Mark{{Stream: orders, Run: 7, Next: 1}}); errs != nil {
			t.Error(errs)
		}
		return r.Drop(ctx, []uint64{7}) // 8 ended before: the client says so
	}
	var ev sdk.Events
	r, ev = openScripted(t, s, e)
	r.(sdk.CreditGranter).Grant(1 << 20)
	for i := range 5 {
		if err := ev.Batch(t.Context(), batchOf(t, orders, int64(i), 1, 10)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ev.Revoking(t.Context(), []uint64{7, 8}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	if got := strings.Join(s.calls, " "); got != "commit drop drop" {
		t.Errorf("calls: %s", got)
	}
	s.mu.Unlock()
	close(e.block)
	for i := range 5 {
		if b := receive(t, e.batches, "batch"); b.Spans[0].From != int64(i) {
			t.Errorf("batch %d begins at %d", i, b.Spans[0].From)
		}
	}
}

func TestRevokingEndsAtItsDeadline(t *testing.T) {
	s, e := newScripted(), newEars()
	e.revoking = func(ctx context.Context, _ []uint64, _ time.Time) error { <-ctx.Done(); return ctx.Err() }
	_, ev := openScripted(t, s, e)
	if err := ev.Revoking(t.Context(), []uint64{1}, time.Now().Add(20*time.Millisecond)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestGapAndEndedStayBehindBatches(t *testing.T) {
	s, e := newScripted(), newEars()
	e.block = make(chan struct{})
	r, ev := openScripted(t, s, e)
	r.(sdk.CreditGranter).Grant(1 << 20)
	ev.Batch(t.Context(), batchOf(t, orders, 0, 1, 1))
	ev.Gap(sdk.Gap{Stream: orders})
	ev.Ended([]uint64{1})
	ev.Lost([]uint64{1})
	if got := receive(t, e.other, "event"); got != "lost" {
		t.Errorf("%s came before the batch", got)
	}
	close(e.block)
	receive(t, e.batches, "batch")
	if a, b := receive(t, e.other, "gap"), receive(t, e.other, "end"); a != "gap" || b != "ended" {
		t.Errorf("got %s, %s", a, b)
	}
}

func TestASourceThatFailsSaysWhy(t *testing.T) {
	s, e := newScripted(), newEars()
	r, ev := openScripted(t, s, e)
	ev.Fail(&sdk.Error{Op: "read log", Kind: sdk.KindFatal, Scope: sdk.ScopePlugin, Err: errors.New("not authorised")})
	err := receive(t, e.failed, "failure")
	if x, ok := errors.AsType[*sdk.Error](err); !ok || x.Kind != sdk.KindFatal || x.Scope != sdk.ScopePlugin || x.Error() != "read log: not authorised" {
		t.Errorf("got %#v", err)
	}
	if got := receive(t, s.closed, "close"); !errors.Is(got, context.Canceled) {
		t.Errorf("closed with a context that says %v, want an ended one", got)
	}
	if errs := r.Commit(t.Context(), []sdk.Mark{{Stream: orders}}); len(errs) != 1 || errs[0] == nil {
		t.Errorf("commit on a failed source: %v", errs)
	}
	if err := ev.Batch(t.Context(), batchOf(t, orders, 0, 1, 1)); err == nil {
		t.Error("a failed source delivers")
	}
}

func TestCommitsBeforeStopAreDone(t *testing.T) {
	s, e := newScripted(), newEars()
	began, gate := make(chan struct{}), make(chan struct{})
	s.commit = func([]sdk.Mark) []error { close(began); <-gate; return nil }
	r, _ := openScripted(t, s, e)
	committed := make(chan []error, 1)
	go func() { committed <- r.Commit(t.Context(), []sdk.Mark{{Stream: orders, Run: 1, Next: 5}}) }()
	receive(t, began, "commit")
	closed := make(chan error, 1)
	go func() { closed <- r.Close(t.Context()) }()
	silent(t, s.closed, "the source was closed before its commit was done")
	close(gate)
	if errs := receive(t, committed, "answer of Commit"); errs != nil {
		t.Error(errs)
	}
	if err := receive(t, closed, "answer of Close"); err != nil {
		t.Error(err)
	}
	if got := strings.Join(s.calls, " "); got != "commit close" {
		t.Errorf("calls: %s", got)
	}
}
