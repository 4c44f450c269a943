package frame

import (
	"cmp"
	"fmt"
	"slices"
)

// Builder collects records and encodes them as one frame. Its memory is
// reused after Reset, so that a builder in use allocates nothing. The zero
// Builder is empty and ready. Not safe for concurrent use.
type Builder struct {
	n, headers int
	err        error // the first row that cannot be encoded

	position    []byte
	timestamp   []byte
	stream      []byte
	key         columnBuilder
	value       columnBuilder
	headerOff   []byte
	headerName  []byte
	headerValue columnBuilder
	kind        []byte
	anyKind     bool

	streams streamDict
	names   nameDict
}

// Reset empties the builder.
func (b *Builder) Reset() {
	b.n, b.headers, b.err, b.anyKind = 0, 0, nil, false
	b.position, b.timestamp, b.stream = b.position[:0], b.timestamp[:0], b.stream[:0]
	b.headerOff, b.headerName, b.kind = b.headerOff[:0], b.headerName[:0], b.kind[:0]
	b.key.reset()
	b.value.reset()
	b.headerValue.reset()
	b.streams.reset()
	b.names.reset()
}

// Stream returns s's index in the dictionary, adding it if it is new. The
// index is good until Reset.
func (b *Builder) Stream(s Stream) int { return b.streams.index(s) }

// Append copies r in, as a row of stream k (an index that Stream returned).
// What cannot be encoded is reported by Encode.
func (b *Builder) Append(k int, r *Record) {
	if k < 0 || k >= b.streams.len() {
		b.fail(fmt.Errorf("row %d: stream %d was not returned by Stream", b.n, k))
	}
	if r.TimestampKind > TimestampAppend {
		b.fail(fmt.Errorf("row %d: %d is no timestamp kind", b.n, r.TimestampKind))
	}
	b.position = le.AppendUint64(b.position, uint64(r.Position))
	b.timestamp = le.AppendUint64(b.timestamp, uint64(r.TimestampMS))
	b.stream = le.AppendUint32(b.stream, uint32(k))
	b.kind = append(b.kind, byte(r.TimestampKind))
	b.anyKind = b.anyKind || r.TimestampKind != TimestampNone
	b.key.append(r.Key)
	b.value.append(r.Value)
	for i := range r.Headers {
		b.headerName = le.AppendUint32(b.headerName, uint32(b.names.index(r.Headers[i].Name)))
		b.headerValue.append(r.Headers[i].Value)
	}
	b.n++
	b.headers += len(r.Headers)
	b.headerOff = le.AppendUint32(b.headerOff, uint32(b.headers))
}

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// NumRecords counts what was appended; Size is the encoded length so far.
func (b *Builder) NumRecords() int { return b.n }

// Size is the length that Encode would give now, in bytes.
func (b *Builder) Size() int {
	n := headerLen
	for _, size := range b.sizes() {
		n += alignUp(size)
	}
	return n
}

// Encode appends the frame to dst. It fails where a row could not be encoded
// or the frame would reach 2 GiB.
func (b *Builder) Encode(dst []byte) ([]byte, error) {
	size := b.Size()
	if err := cmp.Or(b.err, checkSize(uint64(size))); err != nil {
		return dst, fmt.Errorf("encode frame: %w", err)
	}
	dst = slices.Grow(dst, size)
	start := len(dst)
	dst = dst[:start+size]
	clear(dst[start : start+headerLen])
	b.encode(dst[start:])
	return dst, nil
}
