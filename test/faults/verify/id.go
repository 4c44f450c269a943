package verify

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// ID is the record id, computed here a second time from the documented
// layout (docs/frame.md) and not by the product's code: 16 bits that hash the
// stream, 48 bits of position, 64 bits that hash stream, position and value;
// each part preceded by its length, a null by the largest length there is.
func (t Topic) ID(r Record) (id [16]byte) {
	partition := binary.BigEndian.AppendUint32(nil, uint32(r.Partition))
	position := binary.BigEndian.AppendUint64(nil, uint64(r.Position))
	var stream []byte
	for _, part := range [][]byte{[]byte(t.Cluster), []byte(t.Name), []byte(t.Incarnation), partition} {
		stream = lengthAnd(stream, part)
	}
	record := lengthAnd(stream[:len(stream):len(stream)], position)
	if r.Value == nil {
		record = append(record, 0xff, 0xff, 0xff, 0xff)
	} else {
		record = lengthAnd(record, r.Value)
	}
	copy(id[8-len(position):], position)
	hash := binary.BigEndian.AppendUint64(nil, xxh3.Hash(stream))
	copy(id[:2], hash)
	binary.BigEndian.PutUint64(id[8:], xxh3.Hash(record))
	return id
}

func lengthAnd(b, part []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
	return append(b, part...)
}
