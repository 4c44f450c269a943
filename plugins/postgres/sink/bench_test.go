//go:build services

package sink

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

const (
	benchRows = 2048 // a frame
	benchTx   = 4    // frames a transaction of the loop, and of a session with the default max_tx_rows
)

// BenchmarkWrite feeds frames of 2,048 rows of about 512 bytes to a session
// that has all that it wants, until all is committed. BenchmarkLoop is the
// least that a program can do: encode, COPY, one coverage row, COMMIT.
//
//	go test -tags services ./plugins/postgres/sink -bench . -benchtime 200x -run -
func BenchmarkWrite(b *testing.B) {
	for _, connections := range []int{1, 2} {
		b.Run(fmt.Sprintf("connections=%d", connections), func(b *testing.B) {
			r := newRig(b, shared)
			r.set = fmt.Sprintf(`,"connections":%d`, connections)
			s := r.sink()
			streams := []sdk.Stream{streamA, streamB}
			es := r.acquire(s, "bench", streams...)
			ses := r.open(s)
			frames := benchFrames(b, 32)
			measured(b, func(i int) {
				x := *frames[i%len(frames)]
				k := i / 8 % 2
				x.Spans = []sdk.Span{{Stream: streams[k], From: int64(i) << 20, Next: int64(i+1) << 20, Run: 1, Epoch: es[k]}}
				x = rebased(b, x, streams[k], int64(i)<<20)
				ses.send(&x)
			}, func() {
				if err := ses.Close(context.Background()); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkLoop(b *testing.B) {
	r := newRig(b, shared)
	r.open(r.sink()) // makes the table
	conn := r.connect()
	ctx := context.Background()
	r.exec("create table done (n bigint)", "insert into done values (0)")
	frames := benchFrames(b, 32)
	streams := []sdk.Stream{streamA, streamB}
	encoded := []copyrow.Stream{copyrow.NewStream(streamA), copyrow.NewStream(streamB)}
	var buf []byte
	frame := func(i int) {
		if i%benchTx == 0 {
			buf = append(buf[:0], copyrow.Header...)
		}
		x := rebased(b, *frames[i%len(frames)], streams[i/8%2], int64(i)<<20)
		for k := range benchRows {
			buf = copyrow.Append(buf, encoded[i/8%2], x.Frame, k, x.IDs[16*k:])
		}
		if i%benchTx < benchTx-1 && i < b.N-1 {
			return
		}
		buf = append(buf, copyrow.Trailer...)
		_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(buf), "begin; copy raw ("+copyrow.Columns+") from stdin binary")
		if err == nil {
			tx := &pgx.Batch{}
			tx.Queue("update done set n = $1", i)
			tx.Queue("commit")
			err = conn.SendBatch(ctx, tx).Close()
		}
		r.fatal(err)
	}
	measured(b, frame, func() {})
}

// measured runs one step for each frame, and finish, and reports rows and CPU.
func measured(b *testing.B, step func(i int), finish func()) {
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuSeconds()
	for i := range b.N {
		step(i)
	}
	finish()
	n := float64(b.N * benchRows)
	b.ReportMetric((cpuSeconds()-cpu)/n*1e6, "cpu-s/Mrow")
	b.ReportMetric(n/b.Elapsed().Seconds(), "rows/s")
}

// rebased is a copy of a frame with other positions, another stream index and
// fitting ids, as cheap as a host that hands its frames on.
func rebased(b *testing.B, x sdk.Batch, s sdk.Stream, base int64) sdk.Batch {
	enc := bytes.Clone(x.Frame.Bytes())
	at := func(buffer int) int {
		o := enc[32+8*buffer:]
		return int(o[0]) | int(o[1])<<8 | int(o[2])<<16 | int(o[3])<<24
	}
	ids := bytes.Clone(x.IDs)
	for i := range benchRows {
		p := base + int64(i)
		for k := range 8 {
			enc[at(0)+i*8+k] = byte(p >> (8 * k))
		}
		ids[16*i], ids[16*i+1] = byte(s.Partition), 0
		for k := range 6 {
			ids[16*i+2+k] = byte(p >> (40 - 8*k))
		}
		enc[at(2)+i*4] = byte(s.Partition)
	}
	v, err := frame.Open(enc)
	if err != nil {
		b.Fatal(err)
	}
	x.Frame, x.IDs = v, ids
	return x
}

func benchFrames(b *testing.B, n int) []*sdk.Batch {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []*sdk.Batch
	for range n {
		var recs []frame.Record
		for p := range int64(benchRows) {
			recs = append(recs, frame.Record{Position: p, TimestampMS: 1.7e12 + p, Key: fmt.Appendf(nil, "key-%d", rng.IntN(1e6)), Value: benchValue(rng)})
		}
		out = append(out, batchOf(b, piece{stream: streamA, next: benchRows, recs: recs}, piece{stream: streamB, recs: []frame.Record{}}))
	}
	return out
}

// benchValue is JSON of about 410 bytes.
func benchValue(rng *rand.Rand) []byte {
	v := []byte(`{"id":`)
	for i := 0; len(v) < 390; i++ {
		v = fmt.Appendf(v, `%d,"field_%d":"%x",`, rng.IntN(1e6), i, rng.Uint32())
	}
	return append(v, '}')
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
