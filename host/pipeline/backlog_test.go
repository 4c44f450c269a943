package pipeline

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/sdk"
)

// roomSink acknowledges at Flush and has room for a few batches; then Write
// waits for a Flush, as it may.
type roomSink struct {
	*fakeSink
	room int
}

func (s *roomSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	w, err := s.fakeSink.Open(ctx, ses)
	return &roomWriter{fakeWriter: w.(*fakeWriter), sink: s, flushed: make(chan struct{})}, err
}

type roomWriter struct {
	*fakeWriter
	sink *roomSink

	mu      sync.Mutex
	taken   int
	asked   uint64        // a Flush holds for what it has overtaken too
	flushed chan struct{} // closed and replaced by Flush
}

func (w *roomWriter) Write(ctx context.Context, b *sdk.Batch) error {
	w.mu.Lock()
	full, flushed := w.taken >= w.sink.room && b.Seq > w.asked, w.flushed
	w.mu.Unlock()
	if full {
		select {
		case <-flushed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.mu.Lock()
	w.taken++
	w.mu.Unlock()
	return w.fakeWriter.Write(ctx, b)
}

func (w *roomWriter) Flush(ctx context.Context, seq uint64) error {
	err := w.fakeWriter.Flush(ctx, seq)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.taken, w.asked = 0, seq
	close(w.flushed)
	w.flushed = make(chan struct{})
	return err
}

// A sink whose Write waits for a Flush, long before half of the budget is
// unacknowledged: the full backlog asks for it, not max_ack_delay.
func TestABlockedSinkIsFlushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 400), &roomSink{&fakeSink{store: newStore(), hold: true}, 3}
		topic.valueSize = 10_000
		cfg := config(topic, sink.fakeSink)
		cfg.Sink, cfg.MemoryBudget, cfg.MaxAckDelay = sink, 4<<20, 30*time.Minute
		began := time.Now()
		if _, err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		wantAll(t, topic, sink.store)
		if took := time.Since(began); took >= cfg.MaxAckDelay {
			t.Errorf("it took %v of virtual time: max_ack_delay went by", took)
		}
	})
}

// What the sink does not take is not read ahead of it beyond a part of the
// budget; what it has taken without a receipt may fill all of it.
func TestBacklogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic, sink := newTopic(1, 4000), &fakeSink{store: newStore()}
		topic.valueSize = 10_000
		stuck := make(chan struct{})
		sink.script = func(*fakeWriter, *sdk.Batch) bool { <-stuck; return false }
		cfg := config(topic, sink)
		cfg.MemoryBudget = 16 << 20
		p := New(cfg)
		done := make(chan error, 1)
		go func() { done <- p.Run(t.Context()) }()
		time.Sleep(time.Minute) // of virtual time
		const frame = 200_000   // more than one of fakeReader.send
		if held := p.Status().InFlight; held < cfg.MemoryBudget/8 || held > cfg.MemoryBudget/8+frame {
			t.Errorf("%d bytes are held for a sink that takes nothing, want about %d", held, cfg.MemoryBudget/8)
		}
		close(stuck)
		if err := <-done; err != nil {
			t.Error(err)
		}
		wantAll(t, topic, sink.store)
	})
}
