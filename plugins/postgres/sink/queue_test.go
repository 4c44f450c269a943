package sink

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// jobOf has rows rows and counts bytes bytes.
func jobOf(rows int, bytes int64) *job {
	return &job{batch: &sdk.Batch{}, parts: []*part{{rows: []run{{0, rows}}}}, bytes: bytes}
}

func TestQueueJoinsUpToItsLimits(t *testing.T) {
	for name, c := range map[string]struct {
		jobs []*job
		want int
	}{
		"all fit":              {[]*job{jobOf(10, 10), jobOf(10, 10)}, 2},
		"rows":                 {[]*job{jobOf(60, 1), jobOf(40, 1), jobOf(1, 1)}, 2},
		"bytes":                {[]*job{jobOf(1, 600), jobOf(1, 400), jobOf(1, 1)}, 2},
		"one that is too many": {[]*job{jobOf(500, 1), jobOf(1, 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(1 << 20)
			for _, j := range c.jobs {
				if err := q.push(t.Context(), j); err != nil {
					t.Fatal(err)
				}
			}
			q.close()
			lim := limits{rows: 100, bytes: 1000}
			if got := q.pop(t.Context(), lim); len(got) != c.want {
				t.Errorf("%d jobs, want %d", len(got), c.want)
			}
			rest := 0
			for got := q.pop(t.Context(), lim); len(got) > 0; got = q.pop(t.Context(), lim) {
				rest += len(got)
			}
			if rest != len(c.jobs)-c.want || q.bytes != 0 {
				t.Errorf("%d jobs and %d bytes are left", rest, q.bytes)
			}
		})
	}
}

func TestQueueLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1 << 20)
		began := time.Now()
		go func() {
			for range 3 {
				q.push(context.Background(), jobOf(1, 1))
				time.Sleep(40 * time.Millisecond)
			}
		}()
		got := q.pop(t.Context(), limits{rows: 100, bytes: 1000, linger: 50 * time.Millisecond})
		if d := time.Since(began); len(got) != 2 || d != 50*time.Millisecond {
			t.Errorf("%d jobs after %v, want 2 after 50 ms", len(got), d)
		}
		time.Sleep(time.Second)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(100)
		ctx, cancel := context.WithCancel(t.Context())
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		must(q.push(ctx, jobOf(1, 1000))) // one always fits
		waiting := make(chan error, 1)
		go func() { waiting <- q.push(ctx, jobOf(1, 1)) }()
		synctest.Wait()
		if len(waiting) > 0 {
			t.Fatal("a full queue took another")
		}
		q.pop(ctx, limits{})
		must(<-waiting)
		go func() { waiting <- q.push(ctx, jobOf(1, 100)) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the context's end", err)
		}
		q.close()
		if err := q.push(t.Context(), jobOf(1, 1)); err != errClosed {
			t.Errorf("%v after the end", err)
		}
	})
}
