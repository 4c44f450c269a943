package recordid

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk/frame"
)

var orders = frame.Stream{Cluster: "c1", Topic: "orders", Incarnation: "i1", Partition: 3}

func viewOf(t testing.TB, s frame.Stream, rs ...frame.Record) frame.View {
	t.Helper()
	var b frame.Builder
	for i := range rs {
		b.Append(b.Stream(s), &rs[i])
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// dumbID writes the definition down once more, in one go.
func dumbID(s frame.Stream, position int64, value []byte) [Size]byte {
	part := func(p []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...) }
	stream := slices.Concat(part([]byte(s.Cluster)), part([]byte(s.Topic)), part([]byte(s.Incarnation)),
		part(binary.BigEndian.AppendUint32(nil, uint32(s.Partition))))
	all := slices.Concat(stream, part(binary.BigEndian.AppendUint64(nil, uint64(position))), part(value))
	if value == nil {
		copy(all[len(all)-4:], "\xff\xff\xff\xff")
	}
	var id [Size]byte
	binary.BigEndian.PutUint64(id[:], uint64(position))
	binary.BigEndian.PutUint16(id[:], uint16(xxh3.Hash(stream)>>48))
	binary.BigEndian.PutUint64(id[8:], xxh3.Hash(all))
	return id
}

func TestAgainstDefinition(t *testing.T) {
	var h Hasher // one for all: nothing of a record or a stream may stay
	part := rapid.StringN(0, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		s := frame.Stream{Cluster: part.Draw(t, "cluster"), Topic: part.Draw(t, "topic"), Incarnation: part.Draw(t, "incarnation"), Partition: rapid.Int32().Draw(t, "partition")}
		position := rapid.Int64Range(0, 1<<48-1).Draw(t, "position")
		size := rapid.SampledFrom([]int{-1, 0, 1, 100, maxCopied, maxCopied + 1, 3 * maxCopied}).Draw(t, "size")
		var value []byte
		if size >= 0 {
			value = bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, size)
		}
		id, err := h.ID(s, position, value)
		if want := dumbID(s, position, value); err != nil || id != want {
			t.Fatalf("id %x, %v; want %x", id, err, want)
		}
		if Position(id) != position {
			t.Fatalf("position %d in the id of %d", Position(id), position)
		}
	})
}

func TestFillIsIDOfEachRow(t *testing.T) {
	var b frame.Builder
	other := frame.Stream{Topic: "t"}
	for i, s := range []frame.Stream{orders, orders, other, orders} {
		b.Append(b.Stream(s), &frame.Record{Position: int64(i), Value: []byte{byte(i)}})
	}
	enc, _ := b.Encode(nil)
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	var h Hasher
	got, err := h.Fill([]byte("x"), v)
	want := []byte("x")
	for i := range v.NumRecords() {
		id := dumbID(v.Stream(v.StreamIndex(i)), v.Position(i), v.Value(i))
		want = append(want, id[:]...)
	}
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("ids %x, %v; want %x", got, err, want)
	}
}

func TestWhatMakesAnotherID(t *testing.T) {
	at := func(s frame.Stream, position int64, value []byte) [Size]byte {
		id, err := new(Hasher).ID(s, position, value)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	moved := frame.Stream{Cluster: "c", Topic: "1orders", Incarnation: "i1", Partition: 3}
	ids := map[string][Size]byte{
		"null value": at(orders, 5, nil), "empty value": at(orders, 5, []byte{}), "value": at(orders, 5, []byte("v")),
		"position": at(orders, 6, nil), "part boundary": at(moved, 5, nil),
		"incarnation": at(frame.Stream{Cluster: "c1", Topic: "orders", Incarnation: "i2", Partition: 3}, 5, nil),
		"partition":   at(frame.Stream{Cluster: "c1", Topic: "orders", Incarnation: "i1", Partition: 4}, 5, nil),
	}
	seen := map[[Size]byte]string{}
	for what, id := range ids {
		if o, ok := seen[id]; ok {
			t.Errorf("%s and %s have the same id", what, o)
		}
		seen[id] = what
	}
}

func TestIDsAreInOrderOfPosition(t *testing.T) {
	var h Hasher
	var last [Size]byte
	for i, p := range []int64{0, 1, 255, 256, 1 << 32, 1<<48 - 1} {
		id, err := h.ID(orders, p, nil)
		if err != nil || i > 0 && bytes.Compare(last[:], id[:]) >= 0 {
			t.Errorf("position %d: %x is not above %x (%v)", p, id, last, err)
		}
		last = id
	}
}

func TestPositionsThatDoNotFit(t *testing.T) {
	for _, p := range []int64{-1, 1 << 48, -1 << 63} {
		var h Hasher
		_, err := h.Fill(nil, viewOf(t, orders, frame.Record{Position: 1}, frame.Record{Position: p}))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("row 1: position %d of orders/3", p)) {
			t.Errorf("position %d: %v", p, err)
		}
		if _, err := h.ID(orders, p, nil); err == nil {
			t.Errorf("ID took position %d", p)
		}
	}
}

func TestFillAllocatesNothing(t *testing.T) {
	v := viewOf(t, orders, frame.Record{Value: make([]byte, 100)}, frame.Record{Value: make([]byte, maxCopied+1)})
	var h Hasher
	ids, err := h.Fill(nil, v)
	if n := testing.AllocsPerRun(20, func() { ids, err = h.Fill(ids[:0], v) }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
}

func BenchmarkFill(b *testing.B) {
	for _, size := range []int{100, 1024, 8192} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			rs := make([]frame.Record, 512)
			for i := range rs {
				rs[i] = frame.Record{Position: int64(i), Value: bytes.Repeat([]byte("v"), size)}
			}
			v := viewOf(b, orders, rs...)
			var h Hasher
			var ids []byte
			b.ReportAllocs()
			for b.Loop() {
				ids, _ = h.Fill(ids[:0], v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/record")
		})
	}
}
