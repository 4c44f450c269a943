package copyrow

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// parsed is one row as a reader of COPY's format sees it; nil: null.
type parsed [][]byte

// parse reads rows as the server does. It shares no code with Append.
func parse(b []byte) (out []parsed, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cut short: %v", r)
		}
	}()
	for len(b) > 0 {
		n := int(b[0])<<8 | int(b[1])
		b = b[2:]
		row := make(parsed, n)
		for i := range row {
			size := int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
			b = b[4:]
			if size >= 0 {
				row[i], b = b[:size:size], b[size:]
			}
		}
		out = append(out, row)
	}
	return out, nil
}

// array reads a two-dimensional bytea array, and checks what array_recv does.
func array(b []byte) (out [][2][]byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("cut short: %v", r)
		}
	}()
	word := func() (n int32) {
		n = int32(uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]))
		b = b[4:]
		return n
	}
	dims, nulls, oid, rows, low, cols, low2 := word(), word(), word(), word(), word(), word(), word()
	if dims != 2 || oid != 17 || low != 1 || cols != 2 || low2 != 1 {
		return nil, fmt.Errorf("header %d %d %d %d %d %d", dims, oid, rows, low, cols, low2)
	}
	sawNull := int32(0)
	for range rows {
		var h [2][]byte
		for k := range h {
			if n := word(); n < 0 {
				sawNull = 1
			} else {
				h[k], b = b[:n:n], b[n:]
			}
		}
		out = append(out, h)
	}
	if len(b) > 0 || sawNull != nulls {
		return nil, fmt.Errorf("%d bytes are left; has nulls: %d, said %d", len(b), sawNull, nulls)
	}
	return out, nil
}

func frameOf(t testing.TB, s sdk.Stream, recs ...frame.Record) frame.View {
	var b frame.Builder
	k := b.Stream(s)
	for i := range recs {
		b.Append(k, &recs[i])
	}
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var stream = sdk.Stream{Cluster: "c", Topic: "töpic", Partition: -2}

// check compares an encoded row with the record.
func check(t *testing.T, row parsed, id []byte, r frame.Record) {
	t.Helper()
	if len(row) != numColumns {
		t.Fatalf("%d fields", len(row))
	}
	for i, want := range [][]byte{id, []byte("c"), []byte("töpic"), {}, {0xff, 0xff, 0xff, 0xfe}, be.AppendUint64(nil, uint64(r.Position)), be.AppendUint64(nil, uint64(r.TimestampMS)), r.Key, r.Value} {
		if !bytes.Equal(row[i], want) || (row[i] == nil) != (want == nil) {
			t.Errorf("field %d is %x, want %x", i, row[i], want)
		}
	}
	if len(r.Headers) == 0 {
		if row[9] != nil {
			t.Errorf("no headers are %x, want null", row[9])
		}
		return
	}
	got, err := array(row[9])
	if err != nil || len(got) != len(r.Headers) {
		t.Fatalf("headers %x: %v", row[9], err)
	}
	for i, h := range r.Headers {
		if string(got[i][0]) != h.Name || !bytes.Equal(got[i][1], h.Value) || (got[i][1] == nil) != (h.Value == nil) {
			t.Errorf("header %d is %q = %q", i, got[i][0], got[i][1])
		}
	}
}

func TestAppend(t *testing.T) {
	id := bytes.Repeat([]byte{7}, 16)
	recs := []frame.Record{
		{Position: 1, TimestampMS: -1},
		{Position: 1<<48 - 1, Key: []byte{}, Value: []byte{}},
		{Position: 5, Key: []byte("k"), Value: []byte{0, 255}, Headers: []frame.Header{{Name: "a", Value: []byte("1")}, {Name: "a", Value: nil}, {Name: "", Value: []byte{}}}},
		{Position: 6, Headers: []frame.Header{{Name: "\xff\x00", Value: []byte{0}}}},
	}
	v := frameOf(t, stream, recs...)
	var b []byte
	for i := range recs {
		b = Append(b, NewStream(stream), v, i, id)
	}
	rows, err := parse(b)
	if err != nil || len(rows) != len(recs) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, r := range recs {
		check(t, rows[i], id, r)
	}
}

func FuzzAppend(f *testing.F) {
	f.Add(int64(0), int64(0), []byte(nil), []byte("v"), "name", []byte{}, uint8(0))
	f.Add(int64(-1), int64(1)<<62, []byte("k"), []byte{}, "\xff", []byte{0}, uint8(3))
	f.Fuzz(func(t *testing.T, position, ts int64, key, value []byte, name string, hv []byte, headers uint8) {
		r := frame.Record{Position: position, TimestampMS: ts, Key: key, Value: value}
		for k := range headers % 5 {
			h := frame.Header{Name: name, Value: hv}
			if k%2 == 1 {
				h.Value = nil
			}
			r.Headers = append(r.Headers, h)
		}
		id := bytes.Repeat([]byte{9}, 16)
		rows, err := parse(Append(nil, NewStream(stream), frameOf(t, stream, r), 0, id))
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		check(t, rows[0], id, r)
	})
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		s    sdk.Stream
		want string
	}{
		{sdk.Stream{}, ""},
		{sdk.Stream{Cluster: "é", Topic: "日本", Incarnation: "-_"}, ""},
		{sdk.Stream{Topic: "a\x00"}, `topic "a\x00" has a zero byte`},
		{sdk.Stream{Cluster: "\xc3"}, `cluster "\xc3" is not UTF-8`},
		{sdk.Stream{Incarnation: "\xed\xa0\x80"}, `incarnation "\xed\xa0\x80" is not UTF-8`},
	} {
		if err := fmt.Sprint(Check(c.s)); c.want == "" && err != "<nil>" || !strings.Contains(err, c.want) {
			t.Errorf("%+v: %s, want %q", c.s, err, c.want)
		}
	}
}

// BenchmarkAppend encodes rows of about 512 bytes. Nothing is allocated.
func BenchmarkAppend(b *testing.B) {
	for name, hs := range map[string][]frame.Header{"plain": nil, "headers": {{Name: "trace", Value: []byte("00-abcdef0123456789-01")}, {Name: "tenant", Value: []byte("acme")}}} {
		b.Run(name, func(b *testing.B) {
			v := frameOf(b, stream, frame.Record{Position: 1, TimestampMS: 1.7e12, Key: []byte("key-123456"), Value: bytes.Repeat([]byte("x"), 400), Headers: hs})
			id, s := make([]byte, 16), NewStream(stream)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = Append(buf[:0], s, v, 0, id)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}
