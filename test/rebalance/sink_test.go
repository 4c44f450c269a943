//go:build services

package rebalance

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twg-io/twg/sdk"
)

// place is a record's.
type place struct {
	partition int32
	position  int64
}

// rows are what all sinks of a test hold durably.
type rows struct {
	mu    sync.Mutex
	times map[place]int
}

func (r *rows) add(b *sdk.Batch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v := b.Frame
	for i := range v.NumRecords() {
		r.times[place{v.Stream(v.StreamIndex(i)).Partition, v.Position(i)}]++
	}
}

// missing lists what lies below the partitions' ends and is held nowhere.
func (r *rows) missing(ends map[int32]int64) (out []place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p, end := range ends {
		for i := range end {
			if r.times[place{p, i}] == 0 {
				out = append(out, place{p, i})
			}
		}
	}
	return out
}

// slowSink takes its time over every batch. It keeps no coverage.
type slowSink struct {
	rows *rows
	// slow is how long a batch takes until quick is closed.
	slow  time.Duration
	quick chan struct{}
	// begun gets a value when a batch has come.
	begun chan struct{}
}

func (s *slowSink) Describe() sdk.Description {
	return sdk.Description{Name: "slow", Kind: sdk.KindSink}
}

func (s *slowSink) Configure(sdk.Settings) (sdk.Capabilities, sdk.Diagnostics) {
	return sdk.Capabilities{Durable: true}, nil
}

func (s *slowSink) write(ctx context.Context, b *sdk.Batch) (sdk.Receipt, error) {
	select {
	case s.begun <- struct{}{}:
	default:
	}
	select {
	case <-time.After(s.slow):
	case <-s.quick:
	case <-ctx.Done():
		return sdk.Receipt{}, fmt.Errorf("write: %w", ctx.Err())
	}
	s.rows.add(b)
	var r sdk.Receipt
	for _, span := range b.Spans {
		r.Outcomes = append(r.Outcomes, sdk.Outcome{Stream: span.Stream, Run: span.Run, From: span.From, Next: span.Next, Kind: sdk.Durable})
	}
	return r, nil
}
