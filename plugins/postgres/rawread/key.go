// Package rawread reads raw records back from their table, in the order of
// their positions, as frames.
package rawread

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/twg-io/twg/sdk"
)

var be = binary.BigEndian

// Prefix is what the record ids of a stream begin with (docs/frame.md, "Record
// id"). Other streams may have the same one.
func Prefix(s sdk.Stream) uint16 {
	var b []byte
	for _, part := range []string{s.Cluster, s.Topic, s.Incarnation} {
		b = be.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	b = be.AppendUint32(b, 4)
	b = be.AppendUint32(b, uint32(s.Partition))
	return uint16(xxh3.Hash(b) >> 48)
}

// First is the least id that a position can have, Last the greatest.
func First(prefix uint16, position int64) (id [16]byte) {
	be.PutUint64(id[:], uint64(prefix)<<48|uint64(position))
	return id
}

// Last: see First.
func Last(prefix uint16, position int64) (id [16]byte) {
	id = First(prefix, position)
	be.PutUint64(id[8:], ^uint64(0))
	return id
}
