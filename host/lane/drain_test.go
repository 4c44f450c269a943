package lane

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// drainSink does with each batch what a test wants.
type drainSink struct {
	sdk.Sink
	open    error
	answer  func(n int) sdk.OutcomeKind // of the n-th Write; 0: none, ever
	blocks  int                         // the Write that does not return; 0: none
	writes  int
	flushed bool
}

func (s *drainSink) Open(_ context.Context, ses sdk.Session) (sdk.Writer, error) {
	return &drainWriter{s, ses}, s.open
}

type drainWriter struct {
	s   *drainSink
	ses sdk.Session
}

func (w *drainWriter) Write(ctx context.Context, b *sdk.Batch) error {
	w.s.writes++
	if w.s.writes == w.s.blocks {
		<-ctx.Done()
		return ctx.Err()
	}
	if k := w.s.answer(w.s.writes); k != 0 {
		w.ses.Report(sdk.AllOutcome(w.ses.ID, b, k, ""))
	}
	return nil
}

func (w *drainWriter) Flush(_ context.Context, seq uint64) error {
	w.s.flushed = true
	w.ses.Flushed(seq)
	return nil
}

func (w *drainWriter) Close(context.Context) error { return nil }

type drainCase struct {
	name  string
	sink  *drainSink
	flush bool // a sink with DurableFlush
	// How many positions are covered, below which one nothing is on its way any
	// more, how many batches were shed, and whether Drain used all its time.
	held, floor, sheds int64
	late               bool
}

// What Drain leaves behind, for recovery and for the next start.
func TestDrain(t *testing.T) {
	always := func(k sdk.OutcomeKind) func(int) sdk.OutcomeKind { return func(int) sdk.OutcomeKind { return k } }
	cases := []drainCase{
		{"all is answered", &drainSink{answer: always(sdk.Durable)}, false, 30, 30, 0, false},
		{"no session: all is recovery's at once", &drainSink{open: errors.New("away"), answer: always(sdk.Durable)}, false, 0, 30, 3, false},
		{"sent and not answered: it may have landed, and the floor stays below it", &drainSink{answer: always(0)}, false, 0, 0, 0, true},
		{"the second is not answered", &drainSink{answer: func(n int) sdk.OutcomeKind {
			if n == 2 {
				return 0
			}
			return sdk.Durable
		}}, false, 20, 10, 0, true},
		{"the second does not get out: the third was never sent and is shed", &drainSink{answer: always(sdk.Durable), blocks: 2}, false, 10, 10, 1, true},
		{"refused for now, then taken", &drainSink{answer: func(n int) sdk.OutcomeKind {
			if n <= 2 {
				return sdk.Retryable
			}
			return sdk.Durable
		}}, false, 30, 30, 0, false},
		{"written: it is asked to flush, and waited for", &drainSink{answer: always(sdk.Written)}, true, 30, 30, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { c.play(t) })
		})
	}
}

// drainLimit bounds Drain.
const drainLimit = 10 * time.Second

// play offers three batches of ten positions, and drains.
func (c drainCase) play(t *testing.T) {
	store := &laneStore{t: &target{durable: map[int64]bool{}}}
	for pos := range int64(30) {
		store.t.durable[pos] = true // what a receipt says is not this test's
	}
	l := New(Config{Name: "copy", Sink: c.sink, DurableFlush: c.flush, Store: store, Buffer: 1 << 20, Attempts: 3, MaxAckDelay: time.Hour,
		Limits: sdk.DefaultLimits, Logger: slog.New(slog.DiscardHandler)})
	l.Begin(modelStream, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	synctest.Wait()
	for at := int64(0); at < 30; at += 10 {
		l.Offer(positionsBatch(t, at, 10), []sdk.RowRange{{From: 0, To: 10}})
		l.Advance(modelStream, at+10)
	}
	synctest.Wait()
	began := time.Now()
	bound, end := context.WithTimeout(ctx, drainLimit)
	if err := l.Drain(bound); err != nil {
		t.Error(err)
	}
	end()
	if took := time.Since(began); (took >= drainLimit) != c.late {
		t.Errorf("Drain took %v of %v", took, drainLimit)
	}
	c.judge(t, l, store)
	cancel()
	<-done
	if got, want := l.Status().Unanswered, 30-c.held-10*c.sheds; got != want {
		t.Errorf("%d rows are unanswered when the lane has ended, want %d", got, want)
	}
}

func (c drainCase) judge(t *testing.T, l *Lane, store *laneStore) {
	held := int64(0)
	for _, i := range store.held.Held() {
		held += i.Next - i.From
	}
	if s := l.Status(); held != c.held || store.floor != c.floor || s.Sheds != c.sheds {
		t.Errorf("%d covered, live floor %d, %d shed; want %d, %d, %d", held, store.floor, s.Sheds, c.held, c.floor, c.sheds)
	}
	l.Offer(positionsBatch(t, 30, 10), []sdk.RowRange{{From: 0, To: 10}})
	if s := l.Status(); s.Sheds != c.sheds+1 {
		t.Error("a batch was taken after Drain")
	}
	if c.flush && !c.sink.flushed {
		t.Error("nobody asked for a flush")
	}
}
