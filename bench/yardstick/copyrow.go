package main

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	copyTrailer = "\xff\xff"
	pgColumns   = 10
	pgNull      = 1<<32 - 1
	pgBytea     = 17 // the type's number
)

// copyRows encodes records as rows of PostgreSQL's binary COPY format.
type copyRows struct {
	reader  *reader
	makers  map[int32]*idMaker
	streams map[int32][]byte // cluster, topic, incarnation, partition, encoded
}

func newCopyRows(r *reader) *copyRows {
	return &copyRows{r, map[int32]*idMaker{}, map[int32][]byte{}}
}

func (c *copyRows) append(b []byte, r *kgo.Record) []byte {
	m := c.makers[r.Partition]
	if m == nil {
		m = c.add(r.Partition)
	}
	id := m.id(r.Offset, r.Value)
	b = binary.BigEndian.AppendUint16(b, pgColumns)
	b = appendPart(b, id[:])
	b = append(b, c.streams[r.Partition]...)
	b = binary.BigEndian.AppendUint32(b, 8)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.BigEndian.AppendUint32(b, 8)
	b = binary.BigEndian.AppendUint64(b, uint64(r.Timestamp.UnixMilli()))
	b = appendPart(b, r.Key)
	b = appendPart(b, r.Value)
	return appendPGHeaders(b, r.Headers)
}

func (c *copyRows) add(partition int32) *idMaker {
	var b []byte
	for _, part := range []string{c.reader.cluster, c.reader.topic, c.reader.incarnation} {
		b = appendPart(b, []byte(part))
	}
	c.streams[partition] = appendPart(b, binary.BigEndian.AppendUint32(nil, uint32(partition)))
	c.makers[partition] = newIDMaker(c.reader.cluster, c.reader.topic, c.reader.incarnation, partition)
	return c.makers[partition]
}

// appendPGHeaders appends a bytea[][] of name and value; none is null.
func appendPGHeaders(b []byte, headers []kgo.RecordHeader) []byte {
	if len(headers) == 0 {
		return binary.BigEndian.AppendUint32(b, pgNull)
	}
	at := len(b)
	for _, n := range [...]uint32{0, 2, 1, pgBytea, uint32(len(headers)), 1, 2, 1} { // length, filled in below; dimensions; may have nulls; type; each size and lower bound
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for i := range headers {
		b = binary.BigEndian.AppendUint32(b, uint32(len(headers[i].Key)))
		b = append(b, headers[i].Key...)
		b = appendPart(b, headers[i].Value)
	}
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}
