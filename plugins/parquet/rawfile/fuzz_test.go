package rawfile

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// FuzzRows damages the body of a file; its footer has a checksum of its own.
// Whatever happens, no row is read that was not written.
func FuzzRows(f *testing.F) {
	var recs []frame.Record
	for i := range 40 {
		recs = append(recs, frame.Record{Key: fmt.Appendf(nil, "k%d", i), Value: bytes.Repeat([]byte{byte(i)}, i), Headers: []frame.Header{{Name: "h", Value: []byte{1}}}})
	}
	v, ids := view(f, recs...)
	var out bytes.Buffer
	w := plainWriter(16)
	w.Reset(&out)
	if err := w.Append(v, ids, stream, 0, len(recs)); err != nil {
		f.Fatal(err)
	}
	finish(f, w, &out)
	good := out.Bytes()
	foot := int(good[len(good)-8]) | int(good[len(good)-7])<<8 | int(good[len(good)-6])<<16
	body := len(good) - 8 - foot
	f.Add(uint32(4), []byte{1})
	f.Add(uint32(30), []byte{0xff, 0xff, 0x80})
	f.Add(uint32(body-9), []byte{7, 7, 7, 7, 7})
	f.Fuzz(func(t *testing.T, at uint32, xor []byte) {
		b := bytes.Clone(good)
		for i, x := range xor {
			if k := int(at) + i; k < body {
				b[k] ^= x
			}
		}
		file, err := OpenFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		n := 0
		err = file.Rows(context.Background(), stream, coverage.Interval{Next: 1000}, func(r *frame.Record, _ []byte) error {
			want := recs[r.Position]
			if int64(n) != r.Position || !bytes.Equal(r.Key, want.Key) || !bytes.Equal(r.Value, want.Value) || len(r.Headers) != 1 {
				t.Errorf("row %d is %+v", n, *r)
			}
			n++
			return nil
		})
		if err == nil && n != len(recs) {
			t.Errorf("%d rows of %d, and no error", n, len(recs))
		}
		file.Stats()
	})
}
