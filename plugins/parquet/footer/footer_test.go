package footer_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

var (
	one = sdk.Stream{Cluster: "c", Topic: "twg.footer_crc32c\x18\x08\"é", Incarnation: "i", Partition: 7}
	two = sdk.Stream{Topic: "t"}
)

func example() *footer.Footer {
	return &footer.Footer{
		CommitID: [16]byte{1, 2, 0xff},
		Kind:     footer.Checkpoint,
		Spans: []footer.Span{
			{Stream: one, Interval: coverage.Interval{From: 0, Next: 10}},
			{Stream: two, Interval: coverage.Interval{From: 5, Next: sdk.MaxPosition}},
		},
		Voids:   []footer.Void{{Stream: two, Void: coverage.Void{Interval: coverage.Interval{From: 0, Next: 5}, Reason: coverage.Retention}}},
		Epochs:  []footer.Epoch{{Stream: one, Epoch: sdk.Epoch{Number: 1 << 63, Token: [16]byte{9}}, Owner: "host-1, process 12"}},
		Cursors: []sdk.Cursor{{Stream: two, Position: 12, Token: []byte{0, 0xff}}},
	}
}

func file(t testing.TB, f *footer.Footer) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := rawfile.Empty(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (*footer.Footer, error) {
	return footer.Read(bytes.NewReader(b), int64(len(b)))
}

func TestWrittenIsRead(t *testing.T) {
	for _, want := range []*footer.Footer{example(), {Kind: footer.Acquire}, {Kind: footer.Data}, {Kind: footer.Record}} {
		got, err := read(file(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

func TestLargeFooterIsRead(t *testing.T) {
	f := &footer.Footer{Kind: footer.Data}
	for p := range int64(5000) {
		f.Spans = append(f.Spans, footer.Span{Stream: one, Interval: coverage.Interval{From: 2 * p, Next: 2*p + 1}})
	}
	got, err := read(file(t, f))
	if err != nil || len(got.Spans) != 5000 {
		t.Fatalf("%v, %v", got, err)
	}
}

// No bit of the footer can be flipped and no byte cut off unnoticed.
func TestEveryBitCounts(t *testing.T) {
	whole := file(t, example())
	for n := range whole {
		if _, err := read(whole[:n]); err == nil {
			t.Fatalf("cut to %d of %d bytes and read", n, len(whole))
		}
	}
	// The body of a file without rows is the four bytes of its magic number.
	for i := 4; i < len(whole); i++ {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[i] ^= 1 << bit
			if _, err := read(b); err == nil {
				t.Fatalf("bit %d of byte %d is flipped and was read", bit, i)
			}
		}
	}
	if _, err := read(append(bytes.Clone(whole[:4]), append([]byte("more"), whole[4:]...)...)); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a longer body: %v", err)
	}
}

func TestChecksumsAreOfTheFile(t *testing.T) {
	b := file(t, example())
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	n := len(b) - 8 - int(uint32(b[len(b)-8])|uint32(b[len(b)-7])<<8)
	if v, _ := f.Lookup("twg.body_bytes"); v != fmt.Sprintf("%016d", n) {
		t.Errorf("body_bytes %s, want %d", v, n)
	}
	if v, _ := f.Lookup("twg.body_crc32c"); v != fmt.Sprintf("%08x", footer.Sum(0, b[:n])) {
		t.Errorf("body_crc32c %s", v)
	}
}

var update = flag.Bool("update", false, "write the golden file")

// The metadata's text is frozen.
func TestGolden(t *testing.T) {
	var b strings.Builder
	for _, kv := range example().Encode() {
		fmt.Fprintf(&b, "%s = %s\n", kv.Key, kv.Value)
	}
	path := filepath.Join("testdata", "metadata.golden")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("metadata is\n%s\nfrozen is\n%s", b.String(), want)
	}
}

func TestCheckStream(t *testing.T) {
	for _, s := range []sdk.Stream{{Cluster: "\xff"}, {Topic: "\xff"}, {Incarnation: "\xff"}} {
		if footer.CheckStream(s) == nil {
			t.Errorf("%q passes", s)
		}
	}
	if err := footer.CheckStream(one); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	b := file(f, example())
	f.Add(b)
	f.Add(b[len(b)/2:])
	f.Add([]byte("PAR1\xff\xff\xff\x7fPAR1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := read(b)
		if err == nil && got.Kind == "" {
			t.Error("no kind")
		}
	})
}
