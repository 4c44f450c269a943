package frame

import (
	"bytes"
	"reflect"
	"testing"
	"unsafe"
)

var orders = Stream{Cluster: "c1", Topic: "orders", Incarnation: "\x00\xff", Partition: 3}

// rows are one of each kind of record, in two streams.
func rows() []Record {
	return []Record{
		{Position: 7, TimestampMS: -1, TimestampKind: TimestampCreate, Key: []byte("k"), Value: []byte("v")},
		{Position: 8, TimestampMS: 1 << 60, TimestampKind: TimestampAppend, Key: nil, Value: []byte{}},
		{Position: 11, Key: []byte{}, Value: nil, Headers: []Header{
			{"a", []byte("1")}, {"b", nil}, {"a", []byte{}}, {"", []byte{0, 255}},
		}},
		{Position: -5, Value: []byte("other stream"), Headers: []Header{{"a", nil}}},
	}
}

func build(t testing.TB, b *Builder, rs []Record) []byte {
	t.Helper()
	for i := range rs {
		s := orders
		if i == 3 {
			s = Stream{Topic: "t", Partition: -1}
		}
		b.Append(b.Stream(s), &rs[i])
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(enc) != b.Size() {
		t.Fatalf("encoded %d bytes, Size said %d", len(enc), b.Size())
	}
	return enc
}

func open(t testing.TB, b []byte) View {
	t.Helper()
	v, err := Open(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func records(v View) []Record {
	var out []Record
	for i := range v.NumRecords() {
		var r Record
		v.Record(i, &r)
		out = append(out, r)
	}
	return out
}

func TestEveryKindOfRecord(t *testing.T) {
	var b Builder
	v := open(t, build(t, &b, rows()))
	if got, want := records(v), rows(); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%#v, wrote\n%#v", got, want)
	}
	if v.NumStreams() != 2 || v.Stream(v.StreamIndex(0)) != orders || v.StreamIndex(3) != 1 {
		t.Errorf("streams: %d, row 0 in %v", v.NumStreams(), v.Stream(0))
	}
}

func TestEmptyFrame(t *testing.T) {
	var b Builder
	for _, v := range []View{open(t, build(t, &b, nil)), {}} {
		if v.NumRecords() != 0 || v.NumStreams() != 0 {
			t.Errorf("%d records, %d streams", v.NumRecords(), v.NumStreams())
		}
	}
}

func TestResetLeavesNothing(t *testing.T) {
	var used, fresh Builder
	build(t, &used, rows())
	used.Reset()
	one := rows()[:1]
	if !bytes.Equal(build(t, &used, one), build(t, &fresh, one)) {
		t.Error("a builder that was used before encodes something else")
	}
}

func TestAppendToASliceLeavesTheFrame(t *testing.T) {
	var b Builder
	enc := build(t, &b, rows())
	before := bytes.Clone(enc)
	v := open(t, enc)
	for i := range v.NumRecords() {
		_, _ = append(v.Key(i), "xx"...), append(v.Value(i), "xx"...)
	}
	_ = append(v.HeaderValue(0), "xx"...)
	if !bytes.Equal(enc, before) {
		t.Error("an append to what a view handed out changed the frame")
	}
}

func TestSizeLimit(t *testing.T) {
	if checkSize(1<<31-1) != nil || checkSize(1<<31) == nil {
		t.Error("a frame must be less than 2 GiB, and may be all of that")
	}
}

// A caller's strings may lie in a buffer that it uses again.
func TestBuilderKeepsNamesOfItsOwn(t *testing.T) {
	var b Builder
	buf := []byte("name")
	alias := unsafe.String(&buf[0], len(buf))
	for range 3 { // the second time the name is known from an earlier frame
		copy(buf, "name")
		b.Reset()
		k := b.Stream(Stream{Topic: alias})
		b.Append(k, &Record{Headers: []Header{{Name: alias}}})
		copy(buf, "XXXX")
		raw, err := b.Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := Open(raw)
		if err != nil {
			t.Fatal(err)
		}
		if v.HeaderName(0) != "name" || v.Stream(0).Topic != "name" {
			t.Fatalf("header %q, topic %q", v.HeaderName(0), v.Stream(0).Topic)
		}
	}
}
