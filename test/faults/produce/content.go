// Package produce writes a run's records: seeded content, at a steady rate,
// in ways that are hard to carry over.
package produce

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/twmb/franz-go/pkg/kgo"
)

// largeBytes is the value of a record that no ordinary batch can hold.
const largeBytes = 5 << 20

// Content makes record n of a seed: the same n gives the same record.
func Content(seed uint64, n int64, topic string, partitions int32) *kgo.Record {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	return &kgo.Record{
		Topic:     topic,
		Partition: int32(rng.IntN(int(partitions))),
		Key:       key(rng, n),
		Value:     value(rng, n),
		Headers:   headers(rng),
	}
}

// Large makes record n with a value of 5 MB.
func Large(seed uint64, n int64, topic string, partition int32) *kgo.Record {
	r := Content(seed, n, topic, 1)
	r.Partition = partition
	r.Value = fill(rand.New(rand.NewPCG(seed, uint64(n))), n, largeBytes)
	return r
}

func key(rng *rand.Rand, n int64) []byte {
	switch rng.IntN(10) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return []byte{0, 0xff, byte(n), 0x80}
	}
	return fmt.Appendf(nil, "key-%d", n)
}

func value(rng *rand.Rand, n int64) []byte {
	switch rng.IntN(20) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return fill(rng, n, 20_000)
	}
	return fill(rng, n, 16+rng.IntN(400))
}

// fill returns size bytes, no others like them: n, then noise in which every
// other run of 64 bytes repeats, so that compression has something to do.
func fill(rng *rand.Rand, n int64, size int) []byte {
	b := make([]byte, max(size, 16))
	binary.BigEndian.PutUint64(b, uint64(n))
	for at := 8; at < len(b); at += 8 {
		if at/64%2 == 1 {
			b[at] = byte(n)
			continue
		}
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], rng.Uint64())
		copy(b[at:], word[:])
	}
	return b
}

func headers(rng *rand.Rand) []kgo.RecordHeader {
	switch rng.IntN(6) {
	case 0:
		return []kgo.RecordHeader{{Key: "twice", Value: []byte("a")}, {Key: "other", Value: []byte("b")}, {Key: "twice", Value: []byte("c")}}
	case 1:
		return []kgo.RecordHeader{{Key: "null", Value: nil}, {Key: "empty", Value: []byte{}}, {Key: "", Value: []byte("no name")}}
	case 2:
		return []kgo.RecordHeader{{Key: "binary", Value: []byte{0, 1, 0xfe, 0xff, 0x80, '\n'}}, {Key: "ünï", Value: []byte("é")}}
	}
	return nil
}
