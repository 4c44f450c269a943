package frame

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
)

// The files of testdata are what writers and readers in other languages are
// tested against. The layout is frozen: a file that is there never changes.
var writeGolden = flag.Bool("write-golden", false, "write the golden files that are missing")

// vector is a golden file's JSON: bytes in hex, 64-bit integers as decimal
// strings, null as null. The frame itself lies beside it.
type vector struct {
	Doc     string         `json:"doc"`
	Streams []vectorStream `json:"streams"`
	Records []vectorRecord `json:"records"`
}

type vectorStream struct {
	Cluster     string `json:"cluster"`
	Topic       string `json:"topic"`
	Incarnation string `json:"incarnation"`
	Partition   int32  `json:"partition"`
}

type vectorRecord struct {
	Stream        int            `json:"stream"`
	Position      string         `json:"position"`
	TimestampMS   string         `json:"timestamp_ms"`
	TimestampKind uint8          `json:"timestamp_kind"`
	Key           *string        `json:"key"`
	Value         *string        `json:"value"`
	Headers       []vectorHeader `json:"headers"`
}

type vectorHeader struct {
	Name  string  `json:"name"`
	Value *string `json:"value"`
}

func hexOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := hex.EncodeToString(b)
	return &s
}

func vectorOf(doc string, v View) vector {
	out := vector{Doc: doc, Streams: []vectorStream{}, Records: []vectorRecord{}}
	for k := range v.NumStreams() {
		s := v.Stream(k)
		h := func(s string) string { return hex.EncodeToString([]byte(s)) }
		out.Streams = append(out.Streams, vectorStream{h(s.Cluster), h(s.Topic), h(s.Incarnation), s.Partition})
	}
	for i, r := range records(v) {
		vr := vectorRecord{
			Stream: v.StreamIndex(i), Position: strconv.FormatInt(r.Position, 10),
			TimestampMS: strconv.FormatInt(r.TimestampMS, 10), TimestampKind: uint8(r.TimestampKind),
			Key: hexOf(r.Key), Value: hexOf(r.Value), Headers: []vectorHeader{},
		}
		for _, h := range r.Headers {
			vr.Headers = append(vr.Headers, vectorHeader{hex.EncodeToString([]byte(h.Name)), hexOf(h.Value)})
		}
		out.Records = append(out.Records, vr)
	}
	return out
}

type golden struct {
	name, doc string
	rows      []Record
}

func goldens() []golden {
	many := make([]Record, 9)
	for i := range many {
		many[i] = Record{Position: int64(i), TimestampMS: 1700000000000 + int64(i), Value: []byte{byte(i)}}
	}
	many[8].Value = nil
	return []golden{
		{"empty", "no record and no stream", nil},
		{"plain", "one record; nothing is null, no timestamp kind", []Record{
			{Position: 42, TimestampMS: 1700000000000, Key: []byte("key"), Value: []byte("value")},
		}},
		{"kinds", "null and empty key, value and header value, a header name twice and an empty one, all timestamp kinds, two streams, a negative position", rows()},
		{"bitmap", "nine records, the last value null: a bitmap of two bytes", many},
	}
}

func (g golden) frame(t testing.TB) []byte {
	var b Builder
	return build(t, &b, g.rows)
}

// sameFile compares got with the file, or writes it where it is missing and
// that was asked for.
func sameFile(t *testing.T, path string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) && *writeGolden {
		err = os.WriteFile(path, got, 0o644)
		want = got
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what is encoded now; the layout is frozen", path)
	}
}

func TestGoldenFrames(t *testing.T) {
	for _, g := range goldens() {
		t.Run(g.name, func(t *testing.T) {
			enc := g.frame(t)
			sameFile(t, filepath.Join("testdata", g.name+".twgf"), enc)
			js, err := json.MarshalIndent(vectorOf(g.doc, open(t, enc)), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			sameFile(t, filepath.Join("testdata", g.name+".json"), append(js, '\n'))
		})
	}
}

// TestGoldenFramesRead opens the files themselves: what was written once is
// readable for ever.
func TestGoldenFramesRead(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.twgf")
	if len(files) < len(goldens()) {
		t.Fatalf("%d files", len(files))
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		js, err := os.ReadFile(f[:len(f)-len("twgf")] + "json")
		if err != nil {
			t.Fatal(err)
		}
		var want vector
		if err := json.Unmarshal(js, &want); err != nil {
			t.Fatal(err)
		}
		if got := vectorOf(want.Doc, open(t, b)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads as %+v, want %+v", f, got, want)
		}
	}
}

// TestGoldenRefusals keeps, for readers in other languages, frames that must
// be refused; the file's name says what is wrong.
func TestGoldenRefusals(t *testing.T) {
	for _, c := range badFrames {
		path := filepath.Join("testdata", "refuse", c.name+".twgf")
		sameFile(t, path, c.frame(t))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Open(b); err == nil {
			t.Errorf("%s was opened", path)
		}
	}
}
