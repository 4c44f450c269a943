package rawfile

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk/frame"
)

var stream = frame.Stream{Cluster: "c", Topic: "t", Partition: 1}

func view(t testing.TB, recs ...frame.Record) (frame.View, []byte) {
	t.Helper()
	var b frame.Builder
	k := b.Stream(stream)
	for i := range recs {
		recs[i].Position = int64(i)
		b.Append(k, &recs[i])
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	return v, make([]byte, 16*len(recs))
}

func plainWriter(rowGroupRows int) *Writer {
	return NewWriter(Options{Codec: &parquet.Uncompressed, RowGroupRows: rowGroupRows})
}

func finish(t testing.TB, w *Writer, out *bytes.Buffer) *parquet.File {
	t.Helper()
	if err := w.Finish(&footer.Footer{Kind: footer.Data}); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The schema is frozen; so is what a conservative reader must understand.
func TestSchema(t *testing.T) {
	const want = `message Row {
	required fixed_len_byte_array(16) _twg_record_id (UUID);
	required binary cluster (STRING);
	required binary topic (STRING);
	required binary incarnation (STRING);
	required int32 partition (INT(32,true));
	required int64 position (INT(64,true));
	required int64 timestamp_ms (INT(64,true));
	optional binary key;
	optional binary value;
	required group headers (LIST) {
		repeated group list {
			required group element {
				required binary name;
				optional binary value;
			}
		}
	}
}`
	if got := schema.String(); got != want {
		t.Errorf("the schema is\n%s", got)
	}
	v, ids := view(t, frame.Record{Key: []byte("k"), Value: []byte("v"), Headers: []frame.Header{{Name: "h"}}})
	var out bytes.Buffer
	w := plainWriter(10)
	w.Reset(&out)
	if err := w.Append(v, ids, stream, 0, 1); err != nil {
		t.Fatal(err)
	}
	known := map[format.Encoding]bool{format.Plain: true, format.RLE: true, format.RLEDictionary: true}
	for _, c := range finish(t, w, &out).Metadata().RowGroups[0].Columns {
		for _, e := range c.MetaData.Encoding {
			if !known[e] {
				t.Errorf("column %v has encoding %v", c.MetaData.PathInSchema, e)
			}
		}
	}
}

func TestRowGroupsEnd(t *testing.T) {
	many := make([]frame.Record, 1000)
	var large []frame.Record
	for range 5 {
		large = append(large, frame.Record{Value: make([]byte, 20<<20)})
	}
	for name, c := range map[string]struct {
		recs   []frame.Record
		rows   int
		groups int
	}{
		"by rows":       {many, 300, 4},
		"by bytes":      {large, 300, 2},
		"one row group": {many, 1000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v, ids := view(t, c.recs...)
			var out bytes.Buffer
			w := plainWriter(c.rows)
			w.Reset(&out)
			if err := w.Append(v, ids, stream, 0, len(c.recs)); err != nil {
				t.Fatal(err)
			}
			if w.Rows() != int64(len(c.recs)) {
				t.Errorf("%d rows", w.Rows())
			}
			f := finish(t, w, &out)
			if got := len(f.RowGroups()); got != c.groups || f.NumRows() != int64(len(c.recs)) {
				t.Errorf("%d row groups of %d rows, want %d of %d", got, f.NumRows(), c.groups, len(c.recs))
			}
		})
	}
}

// A writer that is used again leaves nothing of one file in the next.
func TestWriterIsReused(t *testing.T) {
	w := plainWriter(10)
	for n := range 4 {
		var recs []frame.Record
		for i := range 25 * (4 - n) {
			recs = append(recs, frame.Record{Value: fmt.Appendf(nil, "file %d row %d", n, i), Headers: []frame.Header{{Name: "n", Value: []byte{byte(n)}}}})
		}
		v, ids := view(t, recs...)
		var out bytes.Buffer
		w.Reset(&out)
		if err := w.Append(v, ids, stream, 5, len(recs)); err != nil {
			t.Fatal(err)
		}
		finish(t, w, &out)
		rows, err := parquet.Read[Row](bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil || len(rows) != len(recs)-5 {
			t.Fatalf("file %d: %d rows, %v", n, len(rows), err)
		}
		for i, r := range rows {
			if string(r.Value) != string(recs[i+5].Value) || r.Headers[0].Value[0] != byte(n) {
				t.Fatalf("file %d row %d: %+v", n, i, r)
			}
		}
		if f, err := footer.Read(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil || f.Rows != int64(len(rows)) {
			t.Fatalf("file %d: footer %+v, %v", n, f, err)
		}
	}
}

type brokenOutput struct{ left int }

func (b *brokenOutput) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("full")

func TestErrorsAreReported(t *testing.T) {
	v, ids := view(t, make([]frame.Record, 5000)...)
	for _, left := range []int{0, 1 << 10, 100 << 10} {
		w := plainWriter(1000)
		w.Reset(&brokenOutput{left})
		err := w.Append(v, ids, stream, 0, 5000)
		if err == nil {
			err = w.Finish(&footer.Footer{Kind: footer.Data})
		}
		if !errors.Is(err, errFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

func TestCodec(t *testing.T) {
	for _, name := range Compressions {
		for level := range 6 {
			if c, err := Codec(name, level); c == nil || err != nil {
				t.Errorf("%s %d: %v", name, level, err)
			}
		}
	}
	if _, err := Codec("gzip", 1); err == nil {
		t.Error("gzip is accepted")
	}
}
