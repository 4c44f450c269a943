package rawtable

import (
	"bytes"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// rowsOf is rows with values of the given sizes, in segments of 3.
func rowsOf(t *testing.T, sizes ...int) Rows {
	s := sdk.Stream{Topic: "t"}
	var b frame.Builder
	k := b.Stream(s)
	for i, n := range sizes {
		b.Append(k, &frame.Record{Position: int64(i), Value: make([]byte, n)})
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	batch := &sdk.Batch{Frame: v, IDs: make([]byte, 16*len(sizes))}
	var out Rows
	for at := 0; at < len(sizes); at += 3 {
		out = append(out, Segment{batch, copyrow.NewStream(s), at, min(at+3, len(sizes))})
	}
	return out
}

func positions(r Rows) (out []int64) {
	for i := range r.Len() {
		s, k := r.At(i)
		out = append(out, s.Batch.Frame.Position(k))
	}
	return out
}

func TestSlice(t *testing.T) {
	r := rowsOf(t, 1, 1, 1, 1, 1, 1, 1, 1)
	all := positions(r)
	for from := 0; from <= 8; from++ {
		for to := from; to <= 8; to++ {
			if got := positions(r.Slice(from, to)); !slices.Equal(got, all[from:to]) {
				t.Errorf("[%d,%d) is %v", from, to, got)
			}
		}
	}
}

// The stream is the same however it is read, and with rows larger than a chunk.
func TestEncoder(t *testing.T) {
	rows := rowsOf(t, 0, 10, chunk+1, 5, 3*chunk, 1, 0)
	want := []byte(copyrow.Header)
	for _, s := range rows {
		for i := s.From; i < s.To; i++ {
			want = copyrow.Append(want, s.Stream, s.Batch.Frame, i, s.Batch.IDs[16*i:])
		}
	}
	want = append(want, copyrow.Trailer...)
	var e encoder
	for range 2 { // the second time with a used buffer
		e.reset(rows)
		if got, err := io.ReadAll(iotest.HalfReader(&e)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	e.reset(nil)
	if got, _ := io.ReadAll(&e); string(got) != copyrow.Header+copyrow.Trailer {
		t.Errorf("no rows are %q", got)
	}
}

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		n, line int
		want    []int
	}{{10, 0, []int{5, 10}}, {10, 4, []int{3, 4, 10}}, {10, 1, []int{1, 10}}, {10, 10, []int{9, 10}}, {10, 11, []int{5, 10}}, {2, 2, []int{1, 2}}, {3, 0, []int{1, 3}}} {
		if got := cuts(c.n, c.line); !slices.Equal(got, c.want) {
			t.Errorf("%d rows at line %d: %v, want %v", c.n, c.line, got, c.want)
		}
	}
}
