package main

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// idMaker computes the record ids of one stream: 16 bits of the stream's
// hash, 48 bits of position, and 64 bits over stream, position and value. It
// is written apart from the product's own and agrees with its golden vectors.
type idMaker struct {
	prefix uint64
	stream []byte
	buf    []byte
}

func newIDMaker(cluster, topic, incarnation string, partition int32) *idMaker {
	var b []byte
	for _, part := range []string{cluster, topic, incarnation} {
		b = appendPart(b, []byte(part)) // never null, also if it is empty
	}
	b = appendPart(b, binary.BigEndian.AppendUint32(nil, uint32(partition)))
	return &idMaker{prefix: xxh3.Hash(b) >> 48 << 48, stream: b}
}

func (m *idMaker) id(position int64, value []byte) (id [16]byte) {
	var at [8]byte
	binary.BigEndian.PutUint64(at[:], uint64(position))
	m.buf = appendPart(append(m.buf[:0], m.stream...), at[:])
	m.buf = appendPart(m.buf, value)
	binary.BigEndian.PutUint64(id[:], m.prefix|uint64(position))
	binary.BigEndian.PutUint64(id[8:], xxh3.Hash(m.buf))
	return id
}

// appendPart gives the length and the bytes; null is a length that no part
// has, and nothing.
func appendPart(b, part []byte) []byte {
	if part == nil {
		return binary.BigEndian.AppendUint32(b, 1<<32-1)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
	return append(b, part...)
}
