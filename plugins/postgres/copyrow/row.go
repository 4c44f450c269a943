// Package copyrow writes raw records in PostgreSQL's binary COPY format. It
// allocates nothing per row: a row is appended to the caller's buffer, and what
// all rows of a stream have in common is encoded once.
//
// A stream of rows is Header, then rows, then Trailer. The columns are those
// of [Columns], in that order.
package copyrow

import (
	"encoding/binary"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// Columns are the raw columns, quoted where SQL needs it, in the order in
// which a row has them.
const Columns = `"_twg_record_id", "cluster", "topic", "incarnation", "partition", "position", "timestamp_ms", "key", "value", "headers"`

// Header begins a COPY stream: the signature, no flags, no extension.
const Header = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// Trailer ends it. To the server a stream that is cut between two rows is
// complete all the same: compare the number of rows that it has counted.
const Trailer = "\xff\xff"

const (
	numColumns = 10
	null       = 0xffffffff
	oidBytea   = 17
)

var be = binary.BigEndian

// Stream is what every row of a stream begins with after its id: the encoded
// fields cluster, topic, incarnation and partition.
type Stream struct{ fields []byte }

// NewStream encodes s, whose names [Check] must have accepted.
func NewStream(s sdk.Stream) Stream {
	var b []byte
	b = appendField(b, s.Cluster)
	b = appendField(b, s.Topic)
	b = appendField(b, s.Incarnation)
	b = be.AppendUint32(b, 4)
	return Stream{be.AppendUint32(b, uint32(s.Partition))}
}

// Append appends row i of v, whose record id is id.
func Append(b []byte, s Stream, v frame.View, i int, id []byte) []byte {
	b = be.AppendUint16(b, numColumns)
	b = be.AppendUint32(b, 16)
	b = append(b, id[:16]...)
	b = append(b, s.fields...)
	b = be.AppendUint32(b, 8)
	b = be.AppendUint64(b, uint64(v.Position(i)))
	b = be.AppendUint32(b, 8)
	b = be.AppendUint64(b, uint64(v.TimestampMS(i)))
	b = appendField(b, v.Key(i))
	b = appendField(b, v.Value(i))
	return appendHeaders(b, v, i)
}

// appendField appends a length and the bytes; nil is null.
func appendField[T ~[]byte | ~string](b []byte, field T) []byte {
	if isNil(field) {
		return be.AppendUint32(b, null)
	}
	b = be.AppendUint32(b, uint32(len(field)))
	return append(b, field...)
}

func isNil[T ~[]byte | ~string](field T) bool {
	b, ok := any(field).([]byte)
	return ok && b == nil
}

// appendHeaders appends a bytea[][] of n rows {name, value}. A record without
// headers has null there: an empty array would cost every such row 13 bytes.
func appendHeaders(b []byte, v frame.View, i int) []byte {
	from, to := v.Headers(i)
	if from == to {
		return be.AppendUint32(b, null)
	}
	at := len(b)
	b = append(b, 0, 0, 0, 0) // the length, once it is known
	hasNull := at + 8
	for _, n := range [...]uint32{2, 0, oidBytea, uint32(to - from), 1, 2, 1} { // dimensions; has nulls; type; (size, lower bound) of each
		b = be.AppendUint32(b, n)
	}
	for h := from; h < to; h++ {
		b = appendField(b, v.HeaderName(h))
		value := v.HeaderValue(h)
		if value == nil {
			b[hasNull+3] = 1
		}
		b = appendField(b, value)
	}
	be.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
