package readback

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/test/faults/verify"
)

// The file's documented columns (docs/storage.md), spelled here once more.
type rawRow struct {
	ID          [16]byte    `parquet:"_twg_record_id,uuid"`
	Cluster     string      `parquet:"cluster"`
	Topic       string      `parquet:"topic"`
	Incarnation string      `parquet:"incarnation"`
	Partition   int32       `parquet:"partition"`
	Position    int64       `parquet:"position"`
	TimestampMS int64       `parquet:"timestamp_ms"`
	Key         []byte      `parquet:"key,optional"`
	Value       []byte      `parquet:"value,optional"`
	Headers     []rawHeader `parquet:"headers,list"`
}

type rawHeader struct {
	Name  []byte `parquet:"name"`
	Value []byte `parquet:"value,optional"`
}

func sample(position int64, key, value []byte, headers ...verify.Header) verify.Row {
	return verify.Row{
		Record: verify.Record{
			Place: verify.Place{Partition: 2, Position: position}, TimestampMS: -5,
			Key: key, Value: value, Headers: headers,
		},
		Cluster: "c", Topic: "t", Incarnation: "i", ID: [16]byte{1, 15: byte(position)},
	}
}

func write(t *testing.T, path, kind string, rows []verify.Row) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := parquet.NewGenericWriter[rawRow](f,
		parquet.KeyValueMetadata("twg.kind", kind),
		parquet.KeyValueMetadata("twg.streams", `[{"partition":7},{"partition":2}]`),
		parquet.KeyValueMetadata("twg.spans", `[{"stream":1,"from":3,"next":9}]`),
		parquet.KeyValueMetadata("twg.voids", `[{"stream":0,"from":0,"next":4,"reason":"retention"}]`))
	for _, r := range rows {
		out := rawRow{r.ID, r.Cluster, r.Topic, r.Incarnation, r.Partition, r.Position, r.TimestampMS, r.Key, r.Value, nil}
		for _, h := range r.Headers {
			out.Headers = append(out.Headers, rawHeader{[]byte(h.Name), h.Value})
		}
		if _, err := w.Write([]rawRow{out}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRowsComeBackAsTheyAre(t *testing.T) {
	rows := []verify.Row{
		sample(3, nil, []byte{}),
		sample(4, []byte{}, nil, verify.Header{Name: "a", Value: []byte("1")}, verify.Header{Name: "a"}, verify.Header{Value: []byte{}}),
		sample(5, []byte("k"), []byte{0, 0xff}, verify.Header{Name: "b", Value: []byte{0xff}}),
		sample(8, nil, nil),
	}
	path := filepath.Join(t.TempDir(), "1.parquet")
	write(t, path, "data", rows)
	f, err := Parquet(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Rows {
		if !reflect.DeepEqual(f.Rows[i], rows[i]) {
			t.Errorf("row %d is %+v, want %+v", i, f.Rows[i], rows[i])
		}
	}
	if len(f.Rows) != len(rows) {
		t.Errorf("%d rows, want %d", len(f.Rows), len(rows))
	}
	if want := []verify.Span{{Partition: 2, From: 3, Next: 9, File: "1.parquet"}}; !reflect.DeepEqual(f.Spans, want) {
		t.Errorf("spans %v, want %v", f.Spans, want)
	}
	if want := []verify.Span{{Partition: 7, From: 0, Next: 4, File: "1.parquet"}}; !reflect.DeepEqual(f.Voids, want) {
		t.Errorf("voids %v, want %v", f.Voids, want)
	}
}

func TestCheckpointAddsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "2.parquet")
	write(t, path, "checkpoint", nil)
	f, err := Parquet(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Checkpoint || len(f.Spans) != 0 || len(f.State) != 1 {
		t.Errorf("read %+v", f)
	}
}

// A file that was cut anywhere is an error: it must never pass for complete.
func TestCutFileIsIncomplete(t *testing.T) {
	path := filepath.Join(t.TempDir(), "1.parquet")
	write(t, path, "data", []verify.Row{sample(3, nil, []byte("v")), sample(4, nil, []byte("w"))})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if err := os.WriteFile(path, whole[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Parquet(path); err == nil {
			t.Fatalf("cut to %d of %d bytes it was read without an error", n, len(whole))
		}
	}
}
