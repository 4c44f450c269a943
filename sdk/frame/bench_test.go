package frame

import (
	"bytes"
	"fmt"
	"testing"
)

const perFrame = 512

func sample(size int) *Record {
	return &Record{
		TimestampMS: 1700000000000, TimestampKind: TimestampCreate,
		Key: []byte("key-00000001"), Value: bytes.Repeat([]byte("v"), size),
		Headers: []Header{{"trace", []byte("0123456789abcdef")}},
	}
}

func fill(b *Builder, r *Record) {
	b.Reset()
	k := b.Stream(orders)
	for i := range perFrame {
		r.Position = int64(i)
		b.Append(k, r)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var b Builder
	r := sample(100)
	fill(&b, r)
	enc, _ := b.Encode(nil)
	if n := testing.AllocsPerRun(20, func() { fill(&b, r); enc, _ = b.Encode(enc[:0]) }); n != 0 {
		t.Errorf("building a frame allocates %v times", n)
	}
	v := open(t, enc)
	if n := testing.AllocsPerRun(20, func() { sum(v) }); n != 0 {
		t.Errorf("reading a frame allocates %v times", n)
	}
	if n := testing.AllocsPerRun(20, func() { _, _ = Open(enc) }); n > 8 {
		t.Errorf("opening a frame of %d records allocates %v times", perFrame, n)
	}
}

func sum(v View) (n int) {
	for i := range v.NumRecords() {
		n += len(v.Key(i)) + len(v.Value(i)) + int(v.Position(i)) + v.StreamIndex(i)
		from, to := v.Headers(i)
		for h := from; h < to; h++ {
			n += len(v.HeaderName(h)) + len(v.HeaderValue(h))
		}
	}
	return n
}

func eachSize(b *testing.B, f func(b *testing.B, r *Record)) {
	for _, size := range []int{100, 1024} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			f(b, sample(size))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perFrame, "ns/record")
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	eachSize(b, func(b *testing.B, r *Record) {
		var bl Builder
		fill(&bl, r)
		enc, _ := bl.Encode(nil)
		for b.Loop() {
			if _, err := Open(enc); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBuild(b *testing.B) {
	eachSize(b, func(b *testing.B, r *Record) {
		var bl Builder
		var enc []byte
		for b.Loop() {
			fill(&bl, r)
			enc, _ = bl.Encode(enc[:0])
		}
	})
}

func BenchmarkRead(b *testing.B) {
	eachSize(b, func(b *testing.B, r *Record) {
		var bl Builder
		fill(&bl, r)
		enc, _ := bl.Encode(nil)
		v, _ := Open(enc)
		for b.Loop() {
			sum(v)
		}
	})
}
