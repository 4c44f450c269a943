//go:build services

package sink

import (
	"fmt"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// BenchmarkReplay reads back frames as BenchmarkWrite writes them; one step is
// one frame of 2,048 rows.
//
//	go test -tags services ./plugins/postgres/sink -bench 'Replay|Plan' -run -
func BenchmarkReplay(b *testing.B) {
	r := newRig(b, shared)
	s := r.sink()
	e := r.acquire(s, "bench", streamA)[0]
	ses := r.open(s)
	frames := benchFrames(b, 32)
	const held = 100
	for i := range int64(held) {
		x := *frames[i%32]
		x = rebased(b, x, streamA, i*benchRows)
		ids := batchOf(b, piece{stream: streamA, next: 1}).IDs[:2] // the prefix
		for k := range benchRows {
			copy(x.IDs[16*k:], ids)
		}
		x.Spans = []sdk.Span{{Stream: streamA, From: i * benchRows, Next: (i + 1) * benchRows, Run: 1, Epoch: e}}
		ses.deliver(&x)
	}
	rows := 0
	measured(b, func(i int) {
		if i%held != 0 {
			return
		}
		window := sdk.Window{Stream: streamA, Next: benchRows * int64(min(held, b.N-i))}
		if _, err := s.Replay(b.Context(), window, func(x *sdk.Batch) error { rows += x.Frame.NumRecords(); return nil }); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if rows != b.N*benchRows {
			b.Fatalf("%d rows of %d frames", rows, b.N)
		}
	})
}

// BenchmarkPlan inserts 10,000 windows of 1,000 streams in one call; each step
// is another lane.
func BenchmarkPlan(b *testing.B) {
	s := newRig(b, shared).sink()
	ws := manyWindows()
	if _, err := s.PlanWindows(b.Context(), "warm", ws); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for i := range b.N {
		if got, err := s.PlanWindows(b.Context(), fmt.Sprint(i), ws); err != nil || len(got) != len(ws) {
			b.Fatal(len(got), err)
		}
	}
}
