package sdk

import (
	"fmt"

	"github.com/twg-io/twg/sdk/frame"
)

// Stream names one ordered sequence of records: (cluster, topic or file,
// incarnation, partition). It is comparable and may be a map's key.
type Stream = frame.Stream

// NoPosition marks a position that is not known.
const NoPosition int64 = -1

// MaxPosition is the first position that a stream cannot hold: a record id
// has 48 bits for it.
const MaxPosition int64 = 1 << 48

// Epoch is the offset store's fence of a stream: who may write it now. A
// write must carry exactly the current one; any other, older or newer, is
// fenced. The token is random and new each time, because a store that was
// restored to an older state can issue the same number again. The zero
// Epoch means that the gating sink has no fence.
type Epoch struct {
	Number uint64
	Token  [16]byte
}

// IsZero reports whether e is the absent epoch.
func (e Epoch) IsZero() bool { return e == Epoch{} }

// Span is the half-open range [From, Next) of one stream, as it travelled in
// one batch. From is the previous span's Next in the same run, so positions
// that are never delivered (transaction markers, compaction, deleted records)
// belong to a span and leave no hole.
type Span struct {
	Stream Stream
	From   int64
	Next   int64
	// Run is the Start that the span belongs to. Epoch is the stream's fence
	// at that Start; the host fills it in.
	Run   uint64
	Epoch Epoch
	// CompressedBytes is what the span took on the source's wire,
	// ExpandedBytes what its records take in memory. Zero: not known.
	CompressedBytes int64
	ExpandedBytes   int64
}

// Validate reports what is impossible about s.
func (s Span) Validate() error {
	switch {
	case s.From < 0 || s.Next < s.From:
		return fmt.Errorf("span [%d,%d) of %s is not a range", s.From, s.Next, s.Stream)
	case s.Next > MaxPosition:
		return fmt.Errorf("span [%d,%d) of %s passes position 2^48, which a record id cannot hold", s.From, s.Next, s.Stream)
	case s.CompressedBytes < 0 || s.ExpandedBytes < 0:
		return fmt.Errorf("span [%d,%d) of %s has a negative size", s.From, s.Next, s.Stream)
	}
	return nil
}

// Cursor is a store-managed source's opaque resume token. It stands for
// everything of its stream below Position.
type Cursor struct {
	Stream   Stream
	Position int64
	Token    []byte
}
