package pipeline

import (
	"sync"
	"time"

	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

// Measured is how a sink answers: Latency is seconds from a batch's sending to
// its last answer; the others are of the batches that were sent.
type Measured struct {
	Latency, BatchBytes, BatchRecords Histogram
}

func newMeasured() Measured {
	return Measured{Histogram{Bounds: latencyBounds}, Histogram{Bounds: byteBounds}, Histogram{Bounds: recordBounds}}
}

// sent counts a batch that a sink is sent.
func (m *Measured) sent(b *sdk.Batch) {
	m.BatchBytes.observe(float64(b.Bytes()))
	m.BatchRecords.observe(float64(b.NumRows()))
}

// meter measures a lane, off the loop.
type meter struct {
	mu sync.Mutex
	m  Measured
}

func newMeter() *meter { return &meter{m: newMeasured()} }

func (m *meter) sent(b *sdk.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.sent(b)
}

func (m *meter) answered(after time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.m.Latency.observe(after.Seconds())
}

func (m *meter) read() Measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m
}

// Histogram counts values by bounds that are fixed. It is a value: a copy does
// not change any more. The zero value is empty and has no bounds.
type Histogram struct {
	// Bounds must not be changed. Counts[i] are the values up to Bounds[i] and
	// above the one before; the one after the last bound counts the rest.
	Bounds []float64
	Counts [maxBounds + 1]uint64
	Sum    float64
}

const maxBounds = 14

var (
	// latencyBounds are seconds: a sink answers in milliseconds, or when it
	// closes a file.
	latencyBounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 30, 120}
	byteBounds    = []float64{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 64 << 20}
	recordBounds  = []float64{1, 10, 100, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000}
)

func (h *Histogram) observe(v float64) {
	if !flow.Guarded {
		return
	}
	h.Sum += v
	for i, b := range h.Bounds {
		if v <= b {
			h.Counts[i]++
			return
		}
	}
	h.Counts[len(h.Bounds)]++
}
