package recordbatch

import (
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// made is a batch to be written with the driver's own encoder.
type made struct {
	first      int64
	lastDelta  int32 // 0: that of the last record
	attributes int16
	producer   int64
	firstTime  int64
	maxTime    int64
	records    []kmsg.Record
	codec      kgo.CompressionCodec
	xerial     bool
}

func (m made) bytes(t testing.TB) []byte {
	t.Helper()
	var payload []byte
	for _, r := range m.records {
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		payload = append(payload, r.AppendTo(nil)...)
	}
	payload, kind := m.compress(t, payload)
	last := m.lastDelta
	if n := len(m.records); last == 0 && n > 0 {
		last = m.records[n-1].OffsetDelta
	}
	b := kmsg.RecordBatch{
		FirstOffset: m.first, PartitionLeaderEpoch: 7, Magic: 2, Attributes: m.attributes | int16(kind),
		LastOffsetDelta: last, FirstTimestamp: m.firstTime, MaxTimestamp: m.maxTime,
		ProducerID: m.producer, NumRecords: int32(len(m.records)), Records: payload,
	}
	return seal(b.AppendTo(nil))
}

func (m made) compress(t testing.TB, payload []byte) ([]byte, kgo.CompressionCodecType) {
	c, err := kgo.DefaultCompressor(m.codec)
	if err != nil {
		t.Fatal(err)
	}
	if c == nil {
		return payload, kgo.CodecNone
	}
	out, kind := c.Compress(new(buffer), payload)
	if m.xerial {
		out = append(append(append([]byte{}, xerial...), 0, 0, 0, 1, 0, 0, 0, 1), frameBlock(out)...)
	}
	return out, kind
}

func frameBlock(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// seal sets the length and the checksum.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-prefixLen))
	binary.BigEndian.PutUint32(b[crcAt:], crc32.Checksum(b[crcFrom:], castagnoli))
	return b
}

func rec(delta int32, key, value string, headers ...kmsg.Header) kmsg.Record {
	return kmsg.Record{OffsetDelta: delta, TimestampDelta64: int64(delta) * 10, Key: []byte(key), Value: []byte(value), Headers: headers}
}
