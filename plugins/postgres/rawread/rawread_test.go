package rawread

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// The ids that the host computes lie in the range of their position, and in no
// other.
func TestRangesOfIDs(t *testing.T) {
	for _, s := range []sdk.Stream{{}, {Cluster: "c", Topic: "t", Incarnation: "i", Partition: 7}, {Topic: "\xff\x00", Partition: -1}} {
		for _, p := range []int64{0, 1, 255, 256, 1 << 40, sdk.MaxPosition - 1} {
			var h recordid.Hasher
			id, err := h.ID(s, p, []byte("value"))
			if err != nil {
				t.Fatal(err)
			}
			first, last := First(Prefix(s), p), Last(Prefix(s), p)
			if bytes.Compare(id[:], first[:]) < 0 || bytes.Compare(id[:], last[:]) > 0 {
				t.Errorf("%s at %d: id %x is not in [%x, %x]", s, p, id, first, last)
			}
			if before := Last(Prefix(s), p-1); p > 0 && bytes.Compare(id[:], before[:]) <= 0 {
				t.Errorf("%s at %d: id %x lies in the range before", s, p, id)
			}
		}
	}
}

// encoded is the headers field of a record, as COPY sends it.
func encoded(t testing.TB, hs []frame.Header) []byte {
	var b frame.Builder
	b.Append(b.Stream(sdk.Stream{}), &frame.Record{Headers: hs})
	buf, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(buf)
	if err != nil {
		t.Fatal(err)
	}
	row := copyrow.Append(nil, copyrow.NewStream(sdk.Stream{}), v, 0, make([]byte, 16))
	row = row[2:]
	for range numFieldsBefore {
		if n := be.Uint32(row); n != null {
			row = row[n:]
		}
		row = row[4:]
	}
	if be.Uint32(row) == null {
		return nil
	}
	return row[4:]
}

const numFieldsBefore = 9

func TestHeadersAsTheyWereWritten(t *testing.T) {
	for _, hs := range [][]frame.Header{
		nil,
		{{Name: "a", Value: []byte("1")}, {Name: "a"}, {Name: "", Value: []byte{}}, {Name: "\xff\x00", Value: []byte{0}}},
		{{Name: "one"}},
	} {
		got, err := decodeHeaders(encoded(t, hs), nil)
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", hs) {
			t.Errorf("%#v (%v), want %#v", got, err, hs)
		}
	}
	if got, err := decodeHeaders([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, oidBytea}, nil); got != nil || err != nil {
		t.Errorf("an empty array: %v, %v", got, err)
	}
}

// FuzzHeaders: bytes that are no headers are refused; what is accepted has no
// header without a name, and is no more than what was there.
func FuzzHeaders(f *testing.F) {
	good := encoded(f, []frame.Header{{Name: "a", Value: []byte("12")}, {Name: "bc"}})
	f.Add(good)
	for cut := range good {
		f.Add(good[:cut])
	}
	for at := range good {
		c := bytes.Clone(good)
		c[at] ^= 0x81
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeHeaders(b, nil)
		if err != nil {
			return
		}
		size := 0
		for _, h := range got {
			size += 8 + len(h.Name) + len(h.Value)
		}
		if size > len(b) {
			t.Errorf("%d headers of %d bytes out of %d bytes", len(got), size, len(b))
		}
	})
}

func TestRowsOfAnotherForm(t *testing.T) {
	row := [][]byte{make([]byte, 16), make([]byte, 8), make([]byte, 8), nil, nil, nil}
	var r frame.Record
	if _, err := decode(row, &r); err != nil {
		t.Error(err)
	}
	for i, bad := range [][][]byte{nil, row[:5], {row[0][:15], row[1], row[2], nil, nil, nil}, {row[0], nil, row[2], nil, nil, nil}, {row[0], row[1], row[2], nil, nil, {1}}} {
		if _, err := decode(bad, &r); err == nil {
			t.Errorf("row %d is accepted", i)
		}
	}
}
