package lane

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// A sink that takes everything and answers no Flush is sent no more after a
// while: what is remembered of it is bounded, and the buffer sheds.
func TestUnflushedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &target{durable: map[int64]bool{}, poison: -1, lazy: true}
		l := New(Config{Name: "copy", Sink: sink, DurableFlush: true, Store: &laneStore{t: sink}, Buffer: 10_000, Attempts: 3, MaxAckDelay: time.Second,
			Limits: sdk.DefaultLimits, Logger: slog.New(slog.DiscardHandler)})
		l.Begin(modelStream, 0)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); l.Run(ctx) }()
		offer := func(at int64) {
			l.Offer(positionsBatch(t, at, 1), []sdk.RowRange{{From: 0, To: 1}})
			l.Advance(modelStream, at+1)
			synctest.Wait()
		}
		const many = maxWritten + 100
		for at := range int64(many) {
			offer(at)
		}
		if s := l.Status(); s.Unflushed != maxWritten || s.Sheds == 0 || s.Buffered > 10_000 {
			t.Errorf("%d unflushed, %d shed, %d bytes buffered; want %d, some, at most 10000", s.Unflushed, s.Sheds, s.Buffered, maxWritten)
		}
		sink.set(sink.awake)
		synctest.Wait()
		if s := l.Status(); s.Buffered != 0 || s.Unflushed >= maxWritten {
			t.Errorf("after a Flush %d are unflushed and %d bytes are buffered", s.Unflushed, s.Buffered)
		}
		if err := l.Drain(ctx); err != nil {
			t.Error(err)
		}
		cancel()
		<-done
	})
}
