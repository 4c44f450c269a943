package sdk

import (
	"testing"

	"github.com/twg-io/twg/sdk/frame"
)

func TestBatchRows(t *testing.T) {
	var fb frame.Builder
	for range 5 {
		fb.Append(fb.Stream(Stream{Topic: "t"}), &frame.Record{})
	}
	enc, err := fb.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	b := Batch{Frame: v, IDs: make([]byte, 5*16)}
	b.IDs[3*16+15] = 9
	if b.NumRows() != 5 || b.RowRanges()[0] != (RowRange{0, 5}) || b.Bytes() != int64(len(enc)) {
		t.Errorf("%d rows, %v, %d bytes", b.NumRows(), b.RowRanges(), b.Bytes())
	}
	if b.ID(3)[15] != 9 || b.ID(2) != [16]byte{} {
		t.Errorf("id 3 is %x", b.ID(3))
	}
	b.Rows = []RowRange{{0, 1}, {3, 5}}
	if b.NumRows() != 3 {
		t.Errorf("%d rows of %v", b.NumRows(), b.Rows)
	}
	b.Rows = []RowRange{}
	if b.NumRows() != 0 {
		t.Errorf("no range is %d rows", b.NumRows())
	}
}

func TestReleaseOnce(t *testing.T) {
	n := 0
	b := Batch{Free: func() { n++ }}
	b.Release()
	b.Release()
	(&Batch{}).Release()
	if n != 1 {
		t.Errorf("freed %d times", n)
	}
}
