package sink

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// BenchmarkWrite feeds frames of 2,048 rows of about 512 bytes to a sink on a
// real directory, and waits until all is durable.
//
//	go test ./plugins/parquet/sink -bench Write -benchtime 500x
func BenchmarkWrite(b *testing.B) {
	for _, compression := range []string{"zstd", "snappy", "none"} {
		b.Run(compression, func(b *testing.B) { benchmarkWrite(b, compression) })
	}
}

const benchRows = 2048

func benchmarkWrite(b *testing.B, compression string) {
	s := New()
	configure(b, s, b.TempDir(), `,"compression":"`+compression+`"`)
	ses := openSession(b, s, sdk.GranularityBatch)
	frames := benchFrames(b, 32)
	b.SetBytes(int64(frames[0].Frame.Len()))
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuSeconds()
	for i := range b.N {
		x := *frames[i%len(frames)]
		x.Spans = []sdk.Span{{Stream: streamA, From: int64(i) << 20, Next: int64(i+1) << 20, Run: 1}}
		rebase(&x, int64(i)<<20)
		ses.write(&x)
	}
	if err := ses.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	n := float64(b.N * benchRows)
	b.ReportMetric((cpuSeconds()-cpu)/n*1e6, "cpu-s/Mrow")
	b.ReportMetric(n/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkReplay reads 400,000 rows of about 512 bytes back, in windows of so
// many positions.
//
//	go test ./plugins/parquet/sink -bench Replay -benchtime 3x
func BenchmarkReplay(b *testing.B) {
	const frames = 200
	s := New()
	configure(b, s, b.TempDir(), "")
	ses := openSession(b, s, sdk.GranularityBatch)
	all := benchFrames(b, 32)
	for i := range int64(frames) {
		x := *all[i%32]
		x.Spans = []sdk.Span{{Stream: streamA, From: i * benchRows, Next: (i + 1) * benchRows, Run: 1}}
		rebase(&x, i*benchRows)
		ses.write(&x)
	}
	if err := ses.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
	for _, size := range []int64{frames * benchRows, 50_000, 5_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkReplay(b, s, frames*benchRows, size) })
	}
}

func benchmarkReplay(b *testing.B, s *Sink, rows, window int64) {
	b.ReportAllocs()
	runtime.GC()
	var base, now runtime.MemStats
	runtime.ReadMemStats(&base)
	peak := base.HeapInuse
	cpu := cpuSeconds()
	for range b.N {
		n := int64(0)
		for from := int64(0); from < rows; from += window {
			_, err := s.Replay(context.Background(), sdk.Window{Stream: streamA, From: from, Next: min(from+window, rows)}, func(x *sdk.Batch) error {
				if n += int64(x.Frame.NumRecords()); n%16 == 0 {
					runtime.ReadMemStats(&now)
					peak = max(peak, now.HeapInuse)
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		if n != rows {
			b.Fatalf("%d rows of %d", n, rows)
		}
	}
	b.ReportMetric(float64(peak-base.HeapInuse)/(1<<20), "MiB-peak")
	n := float64(int64(b.N) * rows)
	b.ReportMetric((cpuSeconds()-cpu)/n*1e6, "cpu-s/Mrow")
	b.ReportMetric(n/b.Elapsed().Seconds(), "rows/s")
}

// rebase moves a frame's positions, in place, so that spans do not repeat.
func rebase(x *sdk.Batch, base int64) {
	x.IDs = nil
	for i := range int64(benchRows) {
		x.IDs = appendID(x.IDs, streamA, base+i)
	}
	enc := x.Frame.Bytes()
	off := int(enc[32]) | int(enc[33])<<8 | int(enc[34])<<16
	for i := range benchRows {
		p := base + int64(i)
		for k := range 8 {
			enc[off+i*8+k] = byte(p >> (8 * k))
		}
	}
}

func benchFrames(b *testing.B, n int) []*sdk.Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []*sdk.Batch
	for range n {
		var recs []frame.Record
		for p := range int64(benchRows) {
			recs = append(recs, frame.Record{Position: p, TimestampMS: 1.7e12 + p, Key: fmt.Appendf(nil, "key-%d", rng.IntN(1e6)), Value: benchValue(rng)})
		}
		out = append(out, batchOf(b, streamA, sdk.Epoch{}, 0, benchRows, recs...))
	}
	return out
}

// benchValue is JSON of about 480 bytes that compresses about as events do.
func benchValue(rng *rand.Rand) []byte {
	v := []byte(`{"id":`)
	for i := 0; len(v) < 460; i++ {
		v = fmt.Appendf(v, `%d,"field_%d":"%x",`, rng.IntN(1e6), i, rng.Uint32())
	}
	return append(v, '}')
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
