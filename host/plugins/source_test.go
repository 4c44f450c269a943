package plugins

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
)

// hostEvents are a host's ears.
type hostEvents struct {
	assigned chan []sdk.Assignment
	batches  chan *sdk.Batch
	ended    chan []uint64
	failed   chan error
}

func newHostEvents() *hostEvents {
	return &hostEvents{make(chan []sdk.Assignment, 10), make(chan *sdk.Batch, 100), make(chan []uint64, 10), make(chan error, 1)}
}

func (e *hostEvents) Limits() sdk.Limits { return sdk.DefaultLimits }

// WaitCredit is never called by the client of a process.
func (e *hostEvents) WaitCredit(context.Context) (int64, error) { return 0, nil }

func (e *hostEvents) Batch(_ context.Context, b *sdk.Batch) error { e.batches <- b; return nil }

func (e *hostEvents) Assigned(_ context.Context, a []sdk.Assignment) error {
	if e.assigned != nil {
		e.assigned <- a
	}
	return nil
}

func (e *hostEvents) Revoking(context.Context, []uint64, time.Time) error { return nil }
func (e *hostEvents) Lost([]uint64)                                       {}
func (e *hostEvents) Gap(sdk.Gap)                                         {}
func (e *hostEvents) Lag([]sdk.Lag)                                       {}
func (e *hostEvents) Topics([]sdk.Topic)                                  {}
func (e *hostEvents) Ended(runs []uint64)                                 { e.ended <- runs }
func (e *hostEvents) Fail(err error) {
	if e.failed != nil {
		e.failed <- err
	}
}

func TestLargeFramesPassFromASourceProcess(t *testing.T) {
	for name, set := range map[string]fakeSettings{"one of 5 MB": {Records: 1, Size: 5 << 20}, "1000 of 5 KB": {Records: 1000, Size: 5 << 10}, "one of 60 MB": {Records: 1, Size: 60 << 20}} {
		t.Run(name, func(t *testing.T) {
			set.Mark = filepath.Join(t.TempDir(), "mark")
			s := supervise(t, "source", set, Options{}, quick)
			ev := newHostEvents()
			r, err := s.Source().Open(t.Context(), ev)
			if err != nil {
				t.Fatal(err)
			}
			if a := get(t, ev.assigned, "assignment"); len(a) != 1 || a[0].Stream != fakeStream || a[0].Committed != sdk.NoPosition {
				t.Fatalf("assigned %+v", a)
			}
			if at, err := r.Resolve(t.Context(), []sdk.Query{{Stream: fakeStream, At: sdk.StartLatest}}); err != nil || at[0].Position != 11 {
				t.Fatalf("resolved %v %v", at, err)
			}
			if err := r.Start(t.Context(), []sdk.Start{{Stream: fakeStream, Run: 5, Position: 11}}); err != nil {
				t.Fatal(err)
			}
			r.(sdk.CreditGranter).Grant(1) // with positive credit one frame may overdraw
			b := get(t, ev.batches, "batch")
			if b.Frame.NumRecords() != set.Records || len(b.Frame.Value(0)) != set.Size || b.Spans[0].From != 11 || b.Spans[0].Run != 5 {
				t.Fatalf("batch of %d records, span %+v", b.Frame.NumRecords(), b.Spans[0])
			}
			b.Release()
			get(t, ev.ended, "end")
			if errs := r.Commit(t.Context(), []sdk.Mark{{Stream: fakeStream, Run: 5, Next: b.Spans[0].Next}}); errs != nil {
				t.Fatal(errs)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if m, _ := os.ReadFile(set.Mark); !strings.Contains(string(m), "closed <nil>, 1 commits") {
				t.Errorf("the source was closed with %q", m)
			}
		})
	}
}

func TestAKilledSourceIsReplaced(t *testing.T) {
	s := supervise(t, "source", fakeSettings{Records: 1}, Options{}, quick)
	ev := newHostEvents()
	if _, err := s.Source().Open(t.Context(), ev); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(s.Status().PID, syscall.SIGKILL)
	if err := get(t, ev.failed, "failure"); !strings.Contains(err.Error(), "killed by signal 9") {
		t.Errorf("the error says %v", err)
	}
	r, err := s.Source().Open(t.Context(), newHostEvents())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
