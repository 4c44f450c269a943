// Package recordid computes the 16-byte id of a record from its stream, its
// position and its value.
//
// An id is [16 bits: hash of the stream][48 bits: position][64 bits: digest],
// big-endian, so that the ids of one stream, compared as bytes, are in the
// order of its positions. Both hashes are XXH3-64 (seed 0) over canonical
// bytes; docs/frame.md states them, testdata holds vectors. The layout is
// frozen.
package recordid

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// Size is an id's length in bytes.
const Size = 16

// nullLen stands where the length of a null value would.
const nullLen = 0xFFFFFFFF

// maxCopied bounds the values that are copied behind the stream's canonical
// bytes to be hashed in one call, which is several times faster than in
// pieces. It is also what a Hasher keeps in memory.
const maxCopied = 64 << 10

var be = binary.BigEndian

// Hasher computes ids. It keeps its buffer and what it knows of the last
// stream; the zero Hasher is ready. Not safe for concurrent use.
type Hasher struct {
	stream    frame.Stream
	known     bool
	prefix    uint64 // the stream's 16 bits, at the top
	canonical []byte // the stream's, then a record's
	streamLen int
	pieces    *xxh3.Hasher
}

// Fill appends the id of every row of v to dst, 16 bytes each. It fails at
// the first row whose position does not fit in 48 bits; such a stream cannot
// go on. It allocates only to grow dst and, at first, its own buffer.
func (h *Hasher) Fill(dst []byte, v frame.View) ([]byte, error) {
	dst = slices.Grow(dst, Size*v.NumRecords())
	last := -1
	for i := range v.NumRecords() {
		if k := v.StreamIndex(i); k != last {
			h.use(v.Stream(k))
			last = k
		}
		position := v.Position(i)
		if err := h.check(position); err != nil {
			return dst, fmt.Errorf("record id of row %d: %w", i, err)
		}
		dst = be.AppendUint64(dst, h.prefix|uint64(position))
		dst = be.AppendUint64(dst, h.digest(position, v.Value(i)))
	}
	return dst, nil
}

// ID is the id of one record. A nil value is null, an empty one is empty.
func (h *Hasher) ID(s frame.Stream, position int64, value []byte) (id [Size]byte, err error) {
	h.use(s)
	if err := h.check(position); err != nil {
		return id, fmt.Errorf("record id: %w", err)
	}
	be.PutUint64(id[:8], h.prefix|uint64(position))
	be.PutUint64(id[8:], h.digest(position, value))
	return id, nil
}

// Position is the position that an id holds.
func Position(id [Size]byte) int64 { return int64(be.Uint64(id[:8]) & (1<<48 - 1)) }

// use makes s the stream of the rows to come.
func (h *Hasher) use(s frame.Stream) {
	if h.known && s == h.stream {
		return
	}
	h.stream, h.known = s, true
	h.canonical = appendStream(h.canonical[:0], s)
	h.streamLen = len(h.canonical)
	h.prefix = xxh3.Hash(h.canonical) &^ (1<<48 - 1)
}

func (h *Hasher) check(position int64) error {
	if position < 0 || position >= sdk.MaxPosition {
		return fmt.Errorf("position %d of %s is not in [0, 2^48): a record id cannot hold it, the stream must stop here", position, h.stream)
	}
	return nil
}

func (h *Hasher) digest(position int64, value []byte) uint64 {
	b := appendPosition(h.canonical[:h.streamLen], position)
	n := uint32(len(value))
	if value == nil {
		n = nullLen
	}
	b = be.AppendUint32(b, n)
	if len(value) > maxCopied {
		h.canonical = b
		return h.inPieces(b, value)
	}
	b = append(b, value...)
	h.canonical = b
	return xxh3.Hash(b)
}

func (h *Hasher) inPieces(head, value []byte) uint64 {
	if h.pieces == nil {
		h.pieces = xxh3.New()
	}
	h.pieces.Reset()
	_, _ = h.pieces.Write(head) // never fails
	_, _ = h.pieces.Write(value)
	return h.pieces.Sum64()
}
