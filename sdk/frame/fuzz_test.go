package frame

import (
	"bytes"
	"runtime"
	"slices"
	"testing"
)

// seeds are good and bad frames, so that mutation starts near the border.
func seeds(f *testing.F) {
	var b Builder
	f.Add(build(f, &b, rows()))
	b.Reset()
	f.Add(build(f, &b, nil))
	f.Add([]byte("TWC1"))
	for _, c := range badFrames {
		f.Add(c.frame(f))
	}
}

// readAll uses every accessor on every row and rebuilds the frame.
func readAll(v View) *Builder {
	var b Builder
	for k := range v.NumStreams() {
		b.Stream(v.Stream(k))
	}
	var r Record
	for i := range v.NumRecords() {
		v.Record(i, &r)
		b.Append(v.StreamIndex(i), &r)
	}
	return &b
}

// FuzzOpen repairs the header's crc, which would hide everything behind it.
func FuzzOpen(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = slices.Clone(b)
		if len(b) >= headerLen {
			le.PutUint32(b[atCRC:], headerCRC(b))
		}
		v, err := Open(b)
		if err != nil {
			return
		}
		rebuilt, err := readAll(v).Encode(nil)
		if err != nil {
			t.Fatalf("a frame that was opened cannot be built again: %v", err)
		}
		w, err := Open(rebuilt)
		if err != nil {
			t.Fatalf("the rebuilt frame: %v", err)
		}
		again, err := readAll(w).Encode(nil)
		if err != nil || !bytes.Equal(rebuilt, again) {
			t.Fatalf("rebuilding changes the frame: %v", err)
		}
	})
}

// FuzzOpenAllocation: what Open allocates is bounded by the input's length.
func FuzzOpenAllocation(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = slices.Clone(b)
		if len(b) >= headerLen {
			le.PutUint32(b[atCRC:], headerCRC(b))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = Open(b)
		runtime.ReadMemStats(&after)
		// Other goroutines of the test may allocate a little meanwhile.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(16*len(b)+1<<16); got > most {
			t.Fatalf("%d bytes of input made Open allocate %d", len(b), got)
		}
	})
}

func TestOpenAnyAlignment(t *testing.T) {
	var b Builder
	enc := build(t, &b, rows())
	for shift := range 9 {
		moved := append(make([]byte, shift), enc...)[shift:]
		if got := len(records(open(t, moved))); got != 4 {
			t.Errorf("shifted by %d: %d records", shift, got)
		}
	}
}

func TestCloneOutlivesTheBytes(t *testing.T) {
	var b Builder
	enc := build(t, &b, rows())
	c := open(t, enc).Clone()
	clear(enc)
	if got := string(c.Value(3)); got != "other stream" || (View{}).Clone() != (View{}) {
		t.Errorf("value is %q", got)
	}
}
