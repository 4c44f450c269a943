package sdk

import (
	"context"

	"github.com/twg-io/twg/sdk/coverage"
)

// OffsetStore is a Sink that keeps coverage, cursors and epochs beside its
// data. Calls may run beside an open session.
type OffsetStore interface {
	// Acquire issues a new epoch (last number + 1, new random token) for each
	// stream, durable before it returns. Rows of older epochs that are not
	// durable yet will never be: they are answered Fenced.
	Acquire(ctx context.Context, owner string, streams []Stream) ([]Acquired, error)
	// Coverage returns what the lane holds of each stream, durably: what is
	// returned survives the loss of power. A stream that is not known has
	// empty coverage.
	Coverage(ctx context.Context, lane string, streams []Stream) ([]StreamCoverage, error)
	// Cursors returns, for each stream that has one, the newest cursor at or
	// below the contiguous frontier of the gating lane.
	Cursors(ctx context.Context, streams []Stream) ([]Cursor, error)
	// Record adds intervals under the streams' epochs, all or none. A stale
	// epoch is an error of kind fenced, also where there is nothing to add: a
	// host asks in this way whether it is still the owner.
	Record(ctx context.Context, lane string, records []CoverageRecord) error
}

// LaneRaw is the lane of the gating sink.
const LaneRaw = "raw"

// Acquired is a stream's new epoch.
type Acquired struct {
	Stream   Stream
	Epoch    Epoch
	Previous string // the owner before, for people; empty: none
}

// StreamCoverage is what a lane holds of a stream.
type StreamCoverage struct {
	Stream Stream
	Set    *coverage.Set
	// SetAside are positions that the lane's sink refused for good, and that
	// it does not hold. Raw has none.
	SetAside []coverage.Interval
}

// CoverageRecord adds intervals to a stream's coverage.
type CoverageRecord struct {
	Stream Stream
	Epoch  Epoch
	Held   []coverage.Interval
	Void   []coverage.Void
	// SetAside and LiveFloor are for lanes other than raw. Held wins over
	// SetAside, and the live floor only rises.
	SetAside  []coverage.Interval
	LiveFloor int64
}

// Replayer is a Sink that reads back what it holds.
type Replayer interface {
	// Replay calls f for each batch of the window and returns the spans that
	// were really read. A batch is valid until f returns; one whose Free is set
	// may be kept: f takes Free out of it, and calls it when it is done.
	Replay(ctx context.Context, w Window, f func(*Batch) error) ([]Span, error)
}

// Window is a bounded piece of raw.
type Window struct {
	Stream     Stream
	From, Next int64
}
