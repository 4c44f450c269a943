package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// lagEvery is how often the committed offsets are asked for.
const lagEvery = 50 * time.Millisecond

// lagWatch follows what a group has committed of one topic.
type lagWatch struct {
	topic string
	want  int64
	// committed is how many records were, over time.
	committed series
	caughtUp  chan struct{} // closed once all are
	stop      context.CancelFunc
	wg        sync.WaitGroup
	err       error
}

// watchLag begins to ask the broker, on a connection of its own.
func watchLag(ctx context.Context, t task, topic string) (*lagWatch, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(t.address))
	if err != nil {
		return nil, fmt.Errorf("watch the lag: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &lagWatch{topic: topic, want: t.options.Records, caughtUp: make(chan struct{}), stop: stop}
	w.wg.Go(func() {
		defer client.Close()
		w.err = w.loop(ctx, kadm.NewClient(client), t.group)
	})
	return w, nil
}

func (w *lagWatch) loop(ctx context.Context, admin *kadm.Client, group string) error {
	tick := time.NewTicker(lagEvery)
	defer tick.Stop()
	for {
		offsets, err := admin.FetchOffsets(ctx, group)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // nobody has joined yet
			return fmt.Errorf("watch the lag of %s: %w", group, err)
		}
		n := int64(0)
		for p := range int32(partitions) {
			if o, ok := offsets.Lookup(w.topic, p); ok {
				n += max(o.At, 0)
			}
		}
		w.committed.add(time.Now(), float64(n))
		if n == w.want {
			close(w.caughtUp)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// finish ends the watching; what was seen is still then.
func (w *lagWatch) finish() error {
	w.stop()
	w.wg.Wait()
	return w.err
}

// delay is how many seconds a record waited from from until it was committed,
// on average: the lag's integral over the number of records. What was not yet
// committed when the watching ended counts as committed then.
func (w *lagWatch) delay(from time.Time) float64 {
	sum, last := 0.0, from
	for i, t := range w.committed.times {
		if t.After(last) {
			before := w.committed.values[max(i-1, 0)]
			sum += (float64(w.want) - before) * t.Sub(last).Seconds()
			last = t
		}
	}
	return sum / float64(w.want)
}
