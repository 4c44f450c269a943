package sdk

import (
	"context"
	"time"
)

// Source reads records. One process serves one configured source.
type Source interface {
	Plugin
	// Open begins to look for streams and reports them by Events.Assigned. It
	// reads no record before the host says Start. ctx bounds Open only.
	Open(ctx context.Context, ev Events) (Reader, error)
}

// Reader is an open source. Calls may run beside each other, and beside the
// source's own calls of Events; Close ends all of them.
type Reader interface {
	// Resolve turns symbolic positions into numbers.
	Resolve(context.Context, []Query) ([]Resolved, error)
	// Start begins a run at a position that the host has decided on. The
	// first span's From is that position. A stream that runs already is
	// dropped first. An unassigned stream is an error of kind fenced. After an
	// error none of them is started.
	Start(context.Context, []Start) error
	// Commit stores positions at the source's own server. It returns one
	// entry a mark, or nil if all are stored. It must work while
	// Events.Revoking waits, and before Start for an assigned stream.
	Commit(context.Context, []Mark) []error
	// Drop ends runs: nothing of them is delivered or committed any more.
	// Streams that are still assigned stay so and wait for a Start.
	Drop(ctx context.Context, runs []uint64) error
	// Close stops reading, leaves the group and returns when nothing will be
	// reported any more.
	Close(context.Context) error
}

// CreditGranter is a Reader that takes the host's credit. It is for the host
// alone: the host's client of a plugin process implements it, authors of
// sources do not. A source that runs in the host's own process has no such
// method; there the host's Events answers WaitCredit by itself.
type CreditGranter interface {
	// Grant adds frame bytes that the source may send. It never blocks for
	// long and may be called from any goroutine, before the first Start too.
	// After the reader has ended it does nothing.
	Grant(bytes int64)
}

// Query asks for a stream's position.
type Query struct {
	Stream Stream
	At     StartAt
	// TimestampMS is for StartTimestamp.
	TimestampMS int64
}

// StartAt is a symbolic position.
type StartAt uint8

const (
	StartEarliest StartAt = iota + 1
	StartLatest
	StartTimestamp
)

func (s StartAt) String() string {
	switch s {
	case StartEarliest:
		return "earliest"
	case StartLatest:
		return "latest"
	case StartTimestamp:
		return "timestamp"
	}
	return "unknown position"
}

// Resolved answers a Query.
type Resolved struct {
	Stream   Stream
	Position int64
}

// Start is the host's decision where a stream's run begins.
type Start struct {
	// Stream is what was assigned. KnownAs, if it is not empty, is the name under
	// which the host's store knows the stream, which differs in the incarnation:
	// everything that is said about this run carries it, rows and marks too. It
	// is given to sources with the capability Renames only.
	Stream  Stream
	KnownAs Stream
	Run     uint64
	Epoch   Epoch
	// Position is where the first span begins.
	Position int64
	// Cursor is the newest one at or below Position that the store has, if any.
	// No seek lies between them.
	Cursor []byte
}

// Name is the name that the run's spans carry.
func (s Start) Name() Stream {
	if s.KnownAs != (Stream{}) {
		return s.KnownAs
	}
	return s.Stream
}

// Mark is a position to be committed: everything below Next is durable. Run
// may be one that has not been started yet (a decision recorded before
// Start).
type Mark struct {
	Stream Stream
	Run    uint64
	Next   int64
}

// Assignment is a stream that this source may read now.
type Assignment struct {
	Stream Stream
	// Committed is the position that the source's own server holds, or
	// NoPosition.
	Committed int64
	// CommittedIncarnation is the incarnation that was stored with it; empty:
	// unknown.
	CommittedIncarnation string
	// Marked: the committed position was stored by a Commit of a source like
	// this one, not by hand or by another program. It need not be set where
	// CommittedIncarnation says it.
	Marked bool
	// Initial is where to begin when nobody has a position.
	Initial     StartAt
	TimestampMS int64
}

// Events is what a source tells the host. All methods may be called from any
// goroutine; per stream, order is the caller's.
type Events interface {
	Limits() Limits
	// WaitCredit blocks until the host has granted credit and returns how
	// many bytes are left. A source must not fetch without credit. With
	// positive credit one frame may overdraw.
	WaitCredit(context.Context) (int64, error)
	// Batch delivers b and gives it away. It debits credit by b.Bytes().
	Batch(context.Context, *Batch) error
	// Assigned announces streams; the host answers each with Start.
	Assigned(context.Context, []Assignment) error
	// Revoking says that runs must end by the deadline. It returns once the
	// host has dropped all of them, or at the deadline. Commit is served
	// meanwhile.
	Revoking(ctx context.Context, runs []uint64, deadline time.Time) error
	// Lost says that runs have ended without warning: no commit is possible.
	Lost(runs []uint64)
	// Gap says that a run cannot go on at the position that is wanted. The
	// source then waits for a new Start.
	Gap(Gap)
	// Lag tells where streams end.
	Lag([]Lag)
	// Topics tells what became of the topics that the settings name: all of
	// them, before their first Assigned and whenever something has changed. A
	// source whose settings name none need not call it.
	Topics([]Topic)
	// Ended says that finite runs have delivered everything.
	Ended(runs []uint64)
	// Fail ends the source: the host opens a new one.
	Fail(error)
}

// Topic is what the source's server says about a topic that is to be read.
type Topic struct {
	Name     string
	Presence Presence
	// Reason says why it cannot be read, for people.
	Reason string
}

// Presence says whether a topic can be read.
type Presence uint8

const (
	// TopicThere: it can.
	TopicThere Presence = iota + 1
	// TopicPending: not now, but soon without anybody's doing.
	TopicPending
	// TopicAbsent: not until somebody creates it, allows it to be read, or
	// corrects the settings.
	TopicAbsent
)

// Gap is a position that cannot be read.
type Gap struct {
	Stream Stream
	Run    uint64
	// Wanted is the position that is not there, Available the next that is.
	Wanted    int64
	Available int64
	Cause     GapCause
	Reason    string
}

// GapCause says why.
type GapCause uint8

const (
	// GapOutOfRange: the log no longer, or not yet, reaches there.
	GapOutOfRange GapCause = iota + 1
	// GapDiverged: the log was cut and filled anew.
	GapDiverged
)

// Lag is where a stream ends now: End is the first position that does not
// exist yet (for a transactional log: that is not stable yet).
type Lag struct {
	Stream Stream
	Run    uint64
	End    int64
	// At is when this was measured, milliseconds since 1970.
	AtMS int64
}
