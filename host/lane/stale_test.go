package lane

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// What was held of a run that was dropped is recovery's once the stream has
// begun anew, also what waited for its next attempt: the new floor lies above it.
func TestDroppedRunIsNotSentBesideTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &drainSink{answer: func(n int) sdk.OutcomeKind {
			if n == 1 {
				return sdk.Retryable
			}
			return sdk.Durable
		}}
		store := &laneStore{t: &target{durable: map[int64]bool{}}}
		l := New(Config{Name: "copy", Sink: sink, Store: store, Buffer: 1 << 20, Attempts: 3, MaxAckDelay: time.Hour,
			Limits: sdk.DefaultLimits, Logger: slog.New(slog.DiscardHandler)})
		l.Begin(modelStream, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		l.Offer(positionsBatch(t, 0, 10), []sdk.RowRange{{From: 0, To: 10}})
		synctest.Wait()
		l.Drop(modelStream)
		l.Begin(modelStream, 10)
		time.Sleep(time.Minute) // past its next attempt
		if sink.writes != 1 || l.Status().Buffered != 0 {
			t.Errorf("%d writes and %d bytes, want the first attempt only and nothing held", sink.writes, l.Status().Buffered)
		}
		cancel()
		<-done
	})
}
