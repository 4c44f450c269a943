// Package recordbatch reads Kafka's record batches (message format 2) as they
// come out of a Fetch response: one batch at a time, without an allocation a
// record.
package recordbatch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

const (
	// headerLen is the length of a batch up to its first record.
	headerLen = 61
	// prefixLen is the first offset and the length, which the length itself
	// does not count.
	prefixLen = 12
	magicAt   = 16
	crcAt     = 17
	crcFrom   = 21
)

// ErrPartial says that the bytes end within a batch: a broker cuts off a
// response at its size limit.
var ErrPartial = errors.New("the batch is cut off")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one record batch. It refers to the bytes that it was read from.
type Batch struct {
	// First is the position of the batch's first record, as it was produced;
	// compaction may have removed that record.
	First int64
	// Next is the position behind the batch, also behind what compaction
	// removed from its end.
	Next int64
	// LeaderEpoch is that of the leader which appended the batch.
	LeaderEpoch int32
	ProducerID  int64
	// Records counts the records that Payload holds.
	Records int
	// Len is the batch's length in bytes, header and all.
	Len int
	// Payload is the records, compressed by Codec.
	Payload []byte

	attributes     int16
	firstTimestamp int64
	maxTimestamp   int64
}

// Codec is the number of the compression that Payload has; 0: none.
func (b *Batch) Codec() int8 { return int8(b.attributes & 7) }

// LogAppendTime reports whether the broker set the timestamps.
func (b *Batch) LogAppendTime() bool { return b.attributes&8 != 0 }

// Transactional reports whether the batch belongs to a transaction.
func (b *Batch) Transactional() bool { return b.attributes&16 != 0 }

// Control reports whether the batch is a transaction marker.
func (b *Batch) Control() bool { return b.attributes&32 != 0 }

// Read reads the batch at the start of in and returns it with what follows.
func Read(in []byte) (Batch, []byte, error) {
	b, err := header(in)
	if err != nil {
		return Batch{}, nil, err
	}
	raw := in[:b.Len]
	if got, want := crc32.Checksum(raw[crcFrom:], castagnoli), binary.BigEndian.Uint32(raw[crcAt:]); got != want {
		return Batch{}, nil, fmt.Errorf("read batch at offset %d: its checksum is %08x, its bytes have %08x", b.First, want, got)
	}
	return b, in[b.Len:], nil
}

func header(in []byte) (Batch, error) {
	if len(in) <= magicAt {
		return Batch{}, ErrPartial
	}
	first, length := int64(binary.BigEndian.Uint64(in)), int64(int32(binary.BigEndian.Uint32(in[8:])))
	if in[magicAt] != 2 {
		return Batch{}, fmt.Errorf("read batch at offset %d: message format %d is not supported, only 2 (written by Kafka 0.11 and later) is", first, in[magicAt])
	}
	if length < headerLen-prefixLen {
		return Batch{}, fmt.Errorf("read batch at offset %d: a length of %d bytes is shorter than its header", first, length)
	}
	if int64(len(in)) < length+prefixLen {
		return Batch{}, ErrPartial
	}
	b := Batch{
		First:          first,
		Next:           first + int64(int32(binary.BigEndian.Uint32(in[23:]))) + 1,
		LeaderEpoch:    int32(binary.BigEndian.Uint32(in[12:])),
		attributes:     int16(binary.BigEndian.Uint16(in[21:])),
		firstTimestamp: int64(binary.BigEndian.Uint64(in[27:])),
		maxTimestamp:   int64(binary.BigEndian.Uint64(in[35:])),
		ProducerID:     int64(binary.BigEndian.Uint64(in[43:])),
		Records:        int(int32(binary.BigEndian.Uint32(in[57:]))),
		Len:            int(length + prefixLen),
	}
	b.Payload = in[headerLen:b.Len]
	return b, b.check()
}

func (b *Batch) check() error {
	switch {
	case b.First < 0 || b.First > math.MaxInt64-math.MaxInt32:
		return fmt.Errorf("read batch: offset %d is none", b.First)
	case b.Next < b.First:
		return fmt.Errorf("read batch at offset %d: it ends before it begins", b.First)
	case b.Records < 0:
		return fmt.Errorf("read batch at offset %d: it has %d records", b.First, b.Records)
	}
	return nil
}

// Next is where reading goes on behind the whole batches of in: the position
// behind the last of them (or from, if there is none), and how many bytes the
// whole batches take. batch is told each one's leader epoch and the first
// position from from on. It looks at headers only.
func Next(in []byte, from int64, batch func(epoch int32, first int64)) (next int64, whole int) {
	next = from
	for {
		b, err := header(in[whole:])
		if err != nil {
			return next, whole
		}
		if b.Next > next {
			batch(b.LeaderEpoch, max(b.First, next))
			next = b.Next
		}
		whole += b.Len
	}
}
