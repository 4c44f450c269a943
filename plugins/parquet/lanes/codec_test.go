package lanes

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// sample has something in every place.
func sample() *entry {
	e := newEntry(9)
	e.checkpoint = true
	e.parts = []partEntry{
		{key: key{lane, streamA}, held: []coverage.Interval{span(0, 5), span(7, 9)}, aside: []coverage.Interval{span(5, 6)},
			void: []coverage.Void{{Interval: span(20, 30), Reason: coverage.Seek}}, floor: 12},
		{key: key{"second", streamB}, floor: 1},
	}
	e.windows = []sdk.RecoveryWindow{
		{ID: 3, Lane: lane, Window: sdk.Window{Stream: streamB, From: 4, Next: 8}, State: sdk.WindowClaimed, RetrySetAside: true, Holder: "h \"1\"", Fence: 2, LeaseVersion: 5, Lease: sdk.NoClock},
		{ID: 8, Lane: lane, Window: sdk.Window{Stream: streamA, From: 0, Next: sdk.MaxPosition}, State: sdk.WindowUnrecoverable, Lease: sdk.NoClock},
	}
	e.gone = []uint64{1, 2}
	return e
}

func encoded(t testing.TB, e *entry) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, e); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func read(b []byte) (*entry, error) { return decode(bytes.NewReader(b), int64(len(b))) }

func TestEntryGoesThere(t *testing.T) {
	want := sample()
	got, err := read(encoded(t, want))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v\nwant %+v", got, err, want)
	}
}

// No byte may be wrong, and none missing.
func TestDamageIsNotBelieved(t *testing.T) {
	b := encoded(t, sample())
	for n := range b {
		if _, err := read(b[:n]); err == nil {
			t.Fatalf("cut after %d of %d bytes: believed", n, len(b))
		}
		for bit := range 8 {
			c := bytes.Clone(b)
			c[n] ^= 1 << bit
			if e, err := read(c); err == nil && !reflect.DeepEqual(e, sample()) && !caseOnly(b[n], c[n]) {
				t.Fatalf("bit %d of byte %d flipped: believed", bit, n)
			}
		}
	}
	if _, err := read(append(b, ' ')); err == nil {
		t.Error("a byte too many: believed")
	}
}

// caseOnly: the checksum's hex digits are the same in both cases.
func caseOnly(a, b byte) bool { return strings.EqualFold(string(rune(a)), string(rune(b))) }

// A damaged file in the directory is an error that names it.
func TestDamagedFileIsNamed(t *testing.T) {
	m := disk.NewMem()
	s, _ := process(m)
	for p := range int64(3) {
		record(t, s, sdk.CoverageRecord{Stream: streamA, Held: []coverage.Interval{span(2*p, 2*p+1)}})
	}
	const name = "_twg/000000000002.lanes"
	b := bytes.Clone(m.Bytes(name))
	for what, data := range map[string][]byte{"cut": b[:len(b)-1], "empty": {}, "flipped": flip(b, len(b)/2), "of another version": bytes.Replace(b, []byte(" 1 "), []byte(" 2 "), 1)} {
		m.Put(name, data)
		s, _ := process(m)
		_, err := s.Streams(t.Context())
		if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "commit 2 (000000000002.lanes)") || !strings.Contains(err.Error(), "restore") {
			t.Errorf("%s: %v", what, err)
		}
	}
	m.Delete(name)
	s, _ = process(m)
	if _, err := s.Streams(t.Context()); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "missing") {
		t.Errorf("missing: %v", err)
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 4
	return b
}

func TestEntriesThatNobodyWrote(t *testing.T) {
	good := entryJSON{ID: strings.Repeat("0", 32), Kind: kindChange, NextID: 5, Streams: []streamJSON{{Topic: "t"}}}
	for name, spoil := range map[string]func(*entryJSON){
		"kind":        func(j *entryJSON) { j.Kind = "other" },
		"id":          func(j *entryJSON) { j.ID = "00" },
		"stream":      func(j *entryJSON) { j.Lanes = []partJSON{{Lane: "l", Stream: 1}} },
		"lane":        func(j *entryJSON) { j.Lanes = []partJSON{{Lane: "raw"}} },
		"range":       func(j *entryJSON) { j.Lanes = []partJSON{{Lane: "l", Held: [][2]int64{{5, 5}}}} },
		"void":        func(j *entryJSON) { j.Lanes = []partJSON{{Lane: "l", Void: []voidJSON{{-1, 5, 1}}}} },
		"floor":       func(j *entryJSON) { j.Lanes = []partJSON{{Lane: "l", Floor: sdk.MaxPosition + 1}} },
		"window's id": func(j *entryJSON) { j.Windows = []windowJSON{{ID: 5, Lane: "l", Next: 1, State: "open"}} },
		"state":       func(j *entryJSON) { j.Windows = []windowJSON{{ID: 4, Lane: "l", Next: 1, State: "lost"}} },
		"window":      func(j *entryJSON) { j.Windows = []windowJSON{{ID: 4, Lane: "l", From: 1, Next: 1, State: "open"}} },
	} {
		j := good
		if _, err := j.entry(); err != nil {
			t.Fatal(err)
		}
		if spoil(&j); true {
			if _, err := j.entry(); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	}
}

// FuzzDecode: nothing makes the decoder panic, and what it accepts it writes
// again as it was.
func FuzzDecode(f *testing.F) {
	b := encoded(f, sample())
	f.Add(b)
	f.Add([]byte("twg-lanes 1 00000000 0\n"))
	f.Add(bytes.Replace(b, []byte("lanes 1"), []byte("lanes 9"), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := read(b)
		if err != nil {
			// The checksum keeps the fuzzer out of the JSON: seal what it made.
			line, body, found := bytes.Cut(b, []byte{'\n'})
			if !found || len(line) > maxLine {
				return
			}
			if e, err = read(sealed(body)); err != nil {
				return
			}
		}
		again, err := read(encoded(t, e))
		if err != nil || fmt.Sprintf("%+v", again) != fmt.Sprintf("%+v", e) {
			t.Errorf("%+v became %+v, %v", e, again, err)
		}
		st := newState()
		if err := (holder{st}).Apply(e); err != nil {
			t.Errorf("apply: %v", err)
		}
		if _, err := read(encoded(t, st.whole())); err != nil {
			t.Errorf("checkpoint of what was accepted: %v", err)
		}
	})
}
