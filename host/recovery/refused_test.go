package recovery

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// refusing is a secondary that answers each batch at once, with kind.
type refusing struct {
	ses  *session
	kind sdk.OutcomeKind
	n    int
}

func (w *refusing) Write(_ context.Context, b *sdk.Batch) error {
	w.n++
	x := b.Spans[0]
	w.ses.receipt(sdk.Receipt{Seq: b.Seq, Outcomes: []sdk.Outcome{{Kind: w.kind, Stream: x.Stream, Run: x.Run, From: x.From, Next: x.Next}}})
	return nil
}
func (*refusing) Close(context.Context) error { return nil }

// What a secondary refuses for now is held in memory to be sent again: no more
// of it than the budget, however large the window is.
func TestRefusedBatchesTakeRoomInTheBudget(t *testing.T) {
	for kind, want := range map[sdk.OutcomeKind]error{sdk.Retryable: errRefused, sdk.Durable: nil} {
		synctest.Test(t, func(t *testing.T) {
			s := sdk.Stream{Cluster: "c", Topic: "t"}
			w := &refusing{kind: kind}
			w.ses = &session{w: w, life: t.Context(), open: map[uint64]*sent{}, changed: make(chan struct{}, 1)}
			size := replayedFrame(t, s, 100).Bytes()
			d := &delivery{
				r: New(Config{Lane: "copy", Budget: 3 * size, Attempts: 2, Logger: slog.New(slog.DiscardHandler)}), ses: w.ses,
				w:    &sdk.RecoveryWindow{Window: sdk.Window{Stream: s, Next: 100}},
				todo: []coverage.Interval{{Next: 100}}, deadline: time.Now().Add(time.Hour),
			}
			var err error
			for range 20 {
				if err = d.batch(t.Context(), replayedFrame(t, s, 100)); err != nil {
					break
				}
				if all, _ := w.ses.inMemory(); all > d.r.cfg.Budget {
					t.Fatalf("%d bytes are held, the budget has %d", all, d.r.cfg.Budget)
				}
			}
			if !errors.Is(err, want) {
				t.Errorf("%v: %v, want %v (%d batches were sent)", kind, err, want, w.n)
			}
		})
	}
}

// However much is missing, so many windows are planned at a time, and each
// stream has some.
func TestWindowsThatArePlannedAtATimeAreBounded(t *testing.T) {
	for _, c := range []struct{ streams, want int }{{1, maxWindows}, {10, maxWindows / 10 * 10}, {2000, 2000 * minWindows}} {
		store := newHoled(c.streams, 0, false)
		for i := range store.lane {
			store.lane[i].Set = &coverage.Set{} // 200,000 positions each are missing
		}
		w := New(Config{Lane: "copy", Store: store, Logger: slog.New(slog.DiscardHandler)})
		if err := w.plan(t.Context(), nil, Options{WindowRows: 1}); err != nil {
			t.Fatal(err)
		}
		if b := w.Backlog(); store.planned != c.want || b.Positions != int64(c.streams)*200_000 {
			t.Errorf("%d streams: %d windows of %d positions, want %d windows", c.streams, store.planned, b.Positions, c.want)
		}
		store.open = []sdk.RecoveryWindow{{Window: sdk.Window{Stream: store.streams[0], Next: 1}}, {Window: sdk.Window{Stream: store.streams[0], From: 1, Next: 2}, State: sdk.WindowUnrecoverable}}
		if err := w.plan(t.Context(), nil, Options{WindowRows: 1}); err != nil || store.planned != c.want-1 {
			t.Errorf("%d streams: %d windows beside one that is there, want %d (%v)", c.streams, store.planned, c.want-1, err)
		}
	}
}
