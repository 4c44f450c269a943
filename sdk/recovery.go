package sdk

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk/coverage"
)

// RecoveryStore is an OffsetStore that also knows of the lanes besides raw:
// how far each was delivered live, which pieces of raw are to be replayed into
// it, and who works on which. A sink offers it with the capabilities
// offset_store and replayable. The rules stand in docs/storage.md, "Windows
// and leases". All calls are safe for concurrent use, also by several hosts.
//
// In Record, lanes other than raw need no epoch: what a secondary holds is
// true whoever reports it. An epoch that is given is checked.
type RecoveryStore interface {
	OffsetStore
	// Streams returns every stream that the store has an epoch or coverage of.
	Streams(ctx context.Context) ([]Stream, error)
	// Floors returns the floors of streams in a lane, in their order; a floor
	// that was never set is 0.
	Floors(ctx context.Context, lane string, streams []Stream) ([]Floors, error)
	// PlanWindows inserts windows and returns those that it inserted, with
	// their ids: one that overlaps an open, claimed or unrecoverable window of
	// its lane and stream is left out. Of w it takes Stream, From, Next,
	// RetrySetAside and State, WindowOpen or WindowUnrecoverable.
	PlanWindows(ctx context.Context, lane string, w []RecoveryWindow) ([]RecoveryWindow, error)
	// Windows returns the windows of a lane that are not complete, by stream
	// and position.
	Windows(ctx context.Context, lane string) ([]RecoveryWindow, error)
	// ClaimWindow leases a window. nil: none is free.
	ClaimWindow(ctx context.Context, c WindowClaim) (*RecoveryWindow, error)
	// RenewWindow gives the lease its full time again and returns its new
	// version. A fence that is not the window's is an error of kind fenced.
	RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (version uint64, err error)
	// CompleteWindow ends the lease. A fence that is not the window's is an
	// error of kind fenced, and changes nothing.
	CompleteWindow(ctx context.Context, c WindowCompletion) error
	// Prune deletes rows of raw from each stream's beginning and records, in
	// the transaction that deletes them, that their positions are void (reason
	// pruned) and no longer held, and the raw floor, which only rises. With
	// dryRun it only says what it would do.
	Prune(ctx context.Context, p []Prune, dryRun bool) ([]Pruned, error)
}

// Floors of a stream. Recovery works between them: below the live floor
// nothing is in flight any more, below the raw floor there is nothing to read.
type Floors struct {
	Stream Stream
	// Live is the lowest position that the lane may still be sent live. It is
	// the lane's, and only rises.
	Live int64
	// Raw is the position below which raw was pruned. It is the stream's.
	Raw int64
}

// RecoveryWindow is a bounded piece of raw that a lane lacks.
type RecoveryWindow struct {
	ID   uint64 // unique in the store, never used again
	Lane string
	Window
	State WindowState
	// RetrySetAside: positions that the lane's sink had refused are sent again.
	RetrySetAside bool
	// Holder says who has the lease, for people; Fence counts the claims of
	// this window; LeaseVersion changes with each claim and renewal.
	Holder       string
	Fence        uint64
	LeaseVersion uint64
	// Lease is what is left of it by the store's clock. A store without a
	// clock has NoClock here: whoever watches the version unchanged for its
	// own TTL may claim the window.
	Lease time.Duration
}

// NoClock stands for the rest of a lease in a store without a clock.
const NoClock time.Duration = -1

// WindowState is a window's place in its life. The zero state is WindowOpen.
type WindowState uint8

const (
	// WindowOpen: nobody works on it.
	WindowOpen WindowState = iota
	// WindowClaimed: somebody has the lease, which may have expired.
	WindowClaimed
	// WindowUnrecoverable: raw no longer has it. It stays, as an alarm, until
	// the lane's coverage has all of it.
	WindowUnrecoverable
)

func (s WindowState) String() string {
	switch s {
	case WindowOpen:
		return "open"
	case WindowClaimed:
		return "claimed"
	case WindowUnrecoverable:
		return "unrecoverable"
	}
	return "unknown"
}

// WindowClaim asks for a lease.
type WindowClaim struct {
	Lane   string
	Holder string
	TTL    time.Duration
	// ID and LeaseVersion name a window that the caller has watched expire.
	// Zero: any that is open, or whose lease has expired by the store's clock.
	ID           uint64
	LeaseVersion uint64
}

// WindowCompletion says what a claim achieved.
type WindowCompletion struct {
	ID, Fence uint64
	// Done is what was read or was covered already, never more, and must be in
	// the lane's coverage. If that is the whole window, it is complete and
	// forgotten; else the hull of what is left is open again.
	Done []coverage.Interval
	// Unrecoverable is what raw no longer has: the part is kept as a window of
	// that state.
	Unrecoverable []coverage.Interval
}

// Prune says how far a stream of raw may be deleted.
type Prune struct {
	Stream Stream
	// Below bounds the positions.
	Below int64
	// OlderThan, unless zero, keeps everything from the first row on that is
	// not older, by its timestamp_ms. A row without a timestamp is kept.
	OlderThan time.Time
}

// Pruned says what was deleted.
type Pruned struct {
	Stream   Stream
	RawFloor int64
	Rows     int64
}
