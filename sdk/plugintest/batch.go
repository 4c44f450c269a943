package plugintest

import (
	"bytes"
	"fmt"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

var (
	streamA = sdk.Stream{Cluster: "plugintest", Topic: "orders", Incarnation: "i1", Partition: 0}
	streamB = sdk.Stream{Cluster: "plugintest", Topic: "orders", Incarnation: "i1", Partition: 1}
	// streamUnknown is one that no service has.
	streamUnknown = sdk.Stream{Cluster: "plugintest", Topic: "unknown", Incarnation: "i1"}
)

// part is what one stream has in a batch.
type part struct {
	stream     sdk.Stream
	epoch      sdk.Epoch
	from, next int64
	recs       []frame.Record
}

// batchOf makes a batch as the host sends it, but for its seq.
func batchOf(parts ...part) *sdk.Batch {
	out := &sdk.Batch{}
	var b frame.Builder
	for _, p := range parts {
		k := b.Stream(p.stream)
		for i := range p.recs {
			b.Append(k, &p.recs[i])
		}
		out.Spans = append(out.Spans, sdk.Span{Stream: p.stream, From: p.from, Next: p.next, Run: uint64(p.stream.Partition) + 1, Epoch: p.epoch})
	}
	buf, err := b.Encode(nil)
	must(err, "encode a frame")
	out.Frame, err = frame.Open(buf)
	must(err, "open a frame")
	var ids recordid.Hasher
	out.IDs, err = ids.Fill(nil, out.Frame)
	must(err, "compute record ids")
	return out
}

// plain makes a record for every position of [from, next).
func plain(from, next int64) []frame.Record {
	var out []frame.Record
	for p := from; p < next; p++ {
		out = append(out, frame.Record{Position: p, TimestampMS: 1_700_000_000_000 + p, Key: fmt.Appendf(nil, "k%d", p), Value: fmt.Appendf(nil, "value %d", p)})
	}
	return out
}

// odd are records that a careless plugin gets wrong. Positions ascend from
// from, with gaps.
func odd(from int64) []frame.Record {
	out := []frame.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: nil, Value: []byte("a null key")},
		{Key: []byte{}, Value: []byte("an empty key")},
		{Key: []byte("a null value"), Value: nil},
		{Key: []byte("not text"), Value: []byte{0, 0xff, '\n', '\r', '"', 0xc3, 0x28}},
		{Key: []byte("headers"), Value: []byte("v"), Headers: []frame.Header{{Name: "twice", Value: []byte("1")}, {Name: "twice", Value: []byte{0xff, 0}},
			{Name: "null", Value: nil}, {Name: "empty", Value: []byte{}}, {Name: "", Value: []byte("no name")}}},
	}
	for i := range out {
		out[i].Position, out[i].TimestampMS = from+int64(3*i), 1_700_000_000_000+int64(i)
	}
	return out
}

// sized makes n records of size bytes that do not compress.
func sized(from int64, n, size int) []frame.Record {
	out := make([]frame.Record, n)
	x := uint64(from)*2654435761 + 88172645463325252
	for i := range out {
		v := make([]byte, size)
		for j := range v {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			v[j] = byte(x)
		}
		out[i] = frame.Record{Position: from + int64(i), TimestampMS: 1_700_000_000_000, Key: []byte("k"), Value: v}
	}
	return out
}

func rowsOf(b *sdk.Batch) (out []Row) {
	for _, r := range b.RowRanges() {
		for i := r.From; i < r.To; i++ {
			s := b.Frame.Stream(b.Frame.StreamIndex(i))
			row := Row{Topic: s.Topic, Partition: s.Partition}
			b.Frame.Record(i, &row.Record)
			out = append(out, row)
		}
	}
	return out
}

// differ says how a row that was read back is not the one that was sent. That
// a record's kind of timestamp is kept is not asked for.
func differ(got, want frame.Record) string {
	switch {
	case got.TimestampMS != want.TimestampMS:
		return fmt.Sprintf("timestamp %d, want %d", got.TimestampMS, want.TimestampMS)
	case !same(got.Key, want.Key):
		return fmt.Sprintf("key %s, want %s", show(got.Key), show(want.Key))
	case !same(got.Value, want.Value):
		return fmt.Sprintf("value %s, want %s", show(got.Value), show(want.Value))
	case len(got.Headers) != len(want.Headers):
		return fmt.Sprintf("%d headers, want %d", len(got.Headers), len(want.Headers))
	}
	for i, h := range want.Headers {
		if g := got.Headers[i]; g.Name != h.Name || !same(g.Value, h.Value) {
			return fmt.Sprintf("header %d is %q = %s, want %q = %s", i, g.Name, show(g.Value), h.Name, show(h.Value))
		}
	}
	return ""
}

// same: null is not empty.
func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func show(b []byte) string {
	switch {
	case b == nil:
		return "null"
	case len(b) > 40:
		return fmt.Sprintf("%q... (%d bytes)", b[:40], len(b))
	}
	return fmt.Sprintf("%q", b)
}
