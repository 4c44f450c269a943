package devkafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Fill is a topic of made-up records, for benchmarks.
type Fill struct {
	Topic string
	// Partitions get the records in turn; the topic must have as many.
	Partitions int32
	Records    int
	// Size is about how many bytes a value has; 0: 512.
	Size int
	// Codec is "none", "zstd", "lz4", "snappy" or "gzip"; empty: none.
	Codec string
	// Seed: the same seed makes the same records.
	Seed uint64
}

// Produce writes the records to the broker at addr and returns the values'
// bytes.
func (f Fill) Produce(ctx context.Context, addr string) (int64, error) {
	codec, err := f.codec()
	if err != nil {
		return 0, err
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(addr),
		kgo.DisableClientMetrics(),
		kgo.DefaultProduceTopic(f.Topic),
		kgo.ProducerBatchCompression(codec),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(5*time.Millisecond),
	)
	if err != nil {
		return 0, fmt.Errorf("fill topic %s: %w", f.Topic, err)
	}
	defer client.Close()
	return f.produce(ctx, client)
}

func (f Fill) produce(ctx context.Context, client *kgo.Client) (int64, error) {
	var bytes int64
	var first firstError
	values := newValues(f.Seed, f.Size)
	for i := range f.Records {
		rec := values.record(i)
		rec.Partition = int32(i) % f.Partitions
		bytes += int64(len(rec.Value))
		client.Produce(ctx, rec, func(_ *kgo.Record, err error) {
			if err != nil {
				first.note(fmt.Errorf("fill topic %s: %w", f.Topic, err))
			}
		})
		if err := first.get(); err != nil {
			return bytes, err
		}
	}
	if err := client.Flush(ctx); err != nil {
		return bytes, fmt.Errorf("fill topic %s: %w", f.Topic, err)
	}
	return bytes, first.get()
}

func (f Fill) codec() (kgo.CompressionCodec, error) {
	switch f.Codec {
	case "", "none":
		return kgo.NoCompression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	}
	return kgo.CompressionCodec{}, fmt.Errorf("fill topic %s: %q is no compression; use none, zstd, lz4, snappy or gzip", f.Topic, f.Codec)
}

// values makes orders as JSON: names that repeat, numbers and a text that do
// not, so that they compress about as such data does.
type values struct {
	rng  *rand.Rand
	size int
	buf  []byte
}

const defaultSize = 512

func newValues(seed uint64, size int) *values {
	if size <= 0 {
		size = defaultSize
	}
	return &values{rng: rand.New(rand.NewPCG(seed, 0)), size: size}
}

var (
	cities = []string{"Lisbon", "Osaka", "Nairobi", "Quito", "Tromsø", "Perth", "Austin", "Kraków"}
	states = []string{"created", "paid", "packed", "shipped", "delivered", "returned"}
	words  = []string{"blue", "small", "metal", "chair", "lamp", "garden", "set", "of", "four", "with", "cover", "oak", "desk", "folding", "outdoor", "kitchen"}
)

// firstOrder is the timestamp of order 0, 2025-01-01.
const firstOrder = 1_735_689_600_000

func (v *values) record(i int) *kgo.Record {
	at := firstOrder + int64(i)*37
	b := append(v.buf[:0], `{"order":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(b, `,"customer":"c-`...)
	b = strconv.AppendUint(b, v.rng.Uint64N(1_000_000), 36)
	b = append(b, `","at":`...)
	b = strconv.AppendInt(b, at, 10)
	b = v.pick(append(b, `,"city":"`...), cities)
	b = v.pick(append(b, `","state":"`...), states)
	b = append(b, `","total":`...)
	b = strconv.AppendFloat(b, float64(v.rng.IntN(1_000_000))/100, 'f', 2, 64)
	b = append(b, `,"token":"`...)
	b = strconv.AppendUint(b, v.rng.Uint64(), 16)
	b = append(b, `","note":"`...)
	for len(b) < v.size-len(`"}`) {
		b = append(v.pick(b, words), ' ')
	}
	b = append(b, `"}`...)
	v.buf = b
	return &kgo.Record{
		Key:       strconv.AppendInt(nil, int64(i), 10),
		Value:     append([]byte(nil), b...),
		Timestamp: time.UnixMilli(at),
	}
}

func (v *values) pick(b []byte, list []string) []byte {
	return append(b, list[v.rng.IntN(len(list))]...)
}
