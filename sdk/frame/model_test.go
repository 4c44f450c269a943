package frame

import (
	"bytes"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// row is a record and its stream, for the dumb encoder.
type row struct {
	stream int
	Record
}

// dumbEncode writes a frame straight from docs/frame.md, buffer by buffer,
// with nothing shared with Builder.
func dumbEncode(streams []Stream, rows []row) []byte {
	var bufs [17][]byte
	u32 := func(k int, v int) { bufs[k] = append(bufs[k], byte(v), byte(v>>8), byte(v>>16), byte(v>>24)) }
	i64 := func(k int, v int64) {
		for s := 0; s < 64; s += 8 {
			bufs[k] = append(bufs[k], byte(v>>s))
		}
	}
	text := func(off, data int, v []byte) { bufs[data] = append(bufs[data], v...); u32(off, len(bufs[data])) }
	var keys, values, headerValues []bool
	var kinds []byte
	var names []string
	for _, k := range []int{3, 5, 7, 9} {
		u32(k, 0)
	}
	h := 0
	for _, r := range rows {
		i64(0, r.Position)
		i64(1, r.TimestampMS)
		u32(2, r.stream)
		text(3, 4, r.Key)
		text(5, 6, r.Value)
		keys, values = append(keys, r.Key != nil), append(values, r.Value != nil)
		kinds = append(kinds, byte(r.TimestampKind))
		for _, hd := range r.Headers {
			if !slices.Contains(names, hd.Name) {
				names = append(names, hd.Name)
			}
			u32(8, slices.Index(names, hd.Name))
			text(9, 10, hd.Value)
			headerValues = append(headerValues, hd.Value != nil)
			h++
		}
		u32(7, h)
	}
	bufs[11], bufs[12], bufs[13] = dumbBits(keys), dumbBits(values), dumbBits(headerValues)
	if len(bytes.Trim(kinds, "\x00")) != 0 {
		bufs[16] = kinds
	}
	dumbDicts(&bufs, u32, streams, names)
	return dumbFrame(bufs, len(rows), h)
}

func dumbDicts(bufs *[17][]byte, u32 func(int, int), streams []Stream, names []string) {
	u32(14, len(streams))
	var parts []string
	for _, s := range streams {
		u32(14, int(s.Partition))
		parts = append(parts, s.Cluster, s.Topic, s.Incarnation)
	}
	u32(15, len(names))
	for k, list := range map[int][]string{14: parts, 15: names} {
		end := 0
		u32(k, 0)
		for _, s := range list {
			end += len(s)
			u32(k, end)
		}
		for _, s := range list {
			bufs[k] = append(bufs[k], s...)
		}
	}
}

func dumbBits(valid []bool) []byte {
	if !slices.Contains(valid, false) {
		return nil
	}
	out := make([]byte, int(math.Ceil(float64(len(valid))/8)))
	for i, v := range valid {
		if v {
			out[i/8] += 1 << (i % 8)
		}
	}
	return out
}

func dumbFrame(bufs [17][]byte, n, h int) []byte {
	out := make([]byte, 256)
	put := func(at, v int) { copy(out[at:], []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}) }
	copy(out, "TWC1\x01\x00")
	put(8, n)
	put(12, h)
	put(28, 17)
	for i, b := range bufs {
		put(32+8*i, len(out))
		put(36+8*i, len(b))
		out = append(out, b...)
		for len(out)%64 != 0 {
			out = append(out, 0)
		}
	}
	put(16, len(out))
	put(24, int(crc32.Checksum(out[:256], crc32.MakeTable(crc32.Castagnoli))))
	return out
}

func drawBytes() *rapid.Generator[[]byte] {
	return rapid.OneOf(
		rapid.Just[[]byte](nil), rapid.Just([]byte{}), rapid.SliceOfN(rapid.Byte(), 0, 40),
	)
}

func drawRows(t *rapid.T, streams int) []row {
	header := rapid.Custom(func(t *rapid.T) Header {
		return Header{rapid.SampledFrom([]string{"", "a", "b", "\xff", "trace-id"}).Draw(t, "name"), drawBytes().Draw(t, "value")}
	})
	kinds := rapid.SampledFrom([]TimestampKind{0, 1, 2})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
		return row{rapid.IntRange(0, streams-1).Draw(t, "stream"), Record{
			Position: rapid.Int64().Draw(t, "position"), TimestampMS: rapid.Int64().Draw(t, "timestamp"),
			TimestampKind: kinds.Draw(t, "kind"), Key: drawBytes().Draw(t, "key"), Value: drawBytes().Draw(t, "value"),
			Headers: rapid.SliceOfN(header, 0, 4).Draw(t, "headers"),
		}}
	}), 0, 40).Draw(t, "rows")
}

func drawStreams(t *rapid.T) []Stream {
	part := rapid.SampledFrom([]string{"", "a", "ab", "\x00"})
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Stream {
		return Stream{part.Draw(t, "cluster"), part.Draw(t, "topic"), part.Draw(t, "incarnation"), rapid.Int32().Draw(t, "partition")}
	}), 1, 5, rapid.ID).Draw(t, "streams")
}

func TestBuilderAgainstDumbEncoder(t *testing.T) {
	var b Builder // one for all, to see that Reset leaves nothing
	rapid.Check(t, func(t *rapid.T) {
		streams := drawStreams(t)
		rows := drawRows(t, len(streams))
		b.Reset()
		for _, s := range streams {
			b.Stream(s)
		}
		for i := range rows {
			b.Append(b.Stream(streams[rows[i].stream]), &rows[i].Record)
		}
		enc, err := b.Encode([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		enc = enc[len("before"):]
		if want := dumbEncode(streams, rows); !bytes.Equal(enc, want) {
			t.Fatalf("encoded\n%x, want\n%x", enc, want)
		}
		checkReads(t, enc, streams, rows)
	})
}

func checkReads(t *rapid.T, enc []byte, streams []Stream, rows []row) {
	v, err := Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range rows {
		got := row{stream: v.StreamIndex(i)}
		v.Record(i, &got.Record)
		if len(got.Headers) == 0 && len(want.Headers) == 0 {
			got.Headers = want.Headers
		}
		if !reflect.DeepEqual(got, want) || v.Stream(got.stream) != streams[want.stream] {
			t.Fatalf("row %d: read %#v, wrote %#v", i, got, want)
		}
	}
}
