package recordbatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type buffer = bytes.Buffer

// readAll reads every record of a batch.
func readAll(t testing.TB, raw []byte, max int) ([]Record, Batch) {
	t.Helper()
	b, rest, err := Read(raw)
	if err != nil || len(rest) != 0 {
		t.Fatalf("Read: %v, %d bytes left", err, len(rest))
	}
	d := NewDecompressor(max)
	defer d.Close()
	payload, err := d.Expand(&b)
	if err != nil {
		t.Fatal(err)
	}
	var r Reader
	var got []Record
	for r.Reset(&b, payload); ; {
		x := r.Next()
		if x == nil {
			break
		}
		c := *x
		c.Headers = append([]Header(nil), x.Headers...)
		got = append(got, c)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return got, b
}

func TestRecords(t *testing.T) {
	m := made{first: 100, firstTime: 5000, maxTime: 9000, lastDelta: 9, records: []kmsg.Record{
		rec(0, "key", "value"),
		{OffsetDelta: 2, TimestampDelta64: -6000, Key: nil, Value: nil},
		{OffsetDelta: 5, Key: []byte{}, Value: []byte{}, Headers: []kmsg.Header{
			{Key: "a", Value: []byte("1")}, {Key: "a", Value: nil}, {Key: "", Value: []byte{}}, {Key: "b", Value: []byte{0, 255}},
		}},
	}}
	got, b := readAll(t, m.bytes(t), 1<<20)
	if b.First != 100 || b.Next != 110 || b.LeaderEpoch != 7 || len(got) != 3 {
		t.Fatalf("batch [%d,%d) of epoch %d with %d records", b.First, b.Next, b.LeaderEpoch, len(got))
	}
	if x := got[0]; x.Offset != 100 || x.TimestampMS != 5000 || string(x.Key) != "key" || string(x.Value) != "value" || len(x.Headers) != 0 {
		t.Errorf("record 0 is %+v", x)
	}
	if x := got[1]; x.Offset != 102 || x.TimestampMS != -1000 || x.Key != nil || x.Value != nil {
		t.Errorf("record 1 is %+v, want nulls", x)
	}
	x := got[2]
	if x.Key == nil || len(x.Key) != 0 || x.Value == nil || len(x.Value) != 0 {
		t.Errorf("record 2 has key %v and value %v, want both empty", x.Key, x.Value)
	}
	if len(x.Headers) != 4 || x.Headers[1].Value != nil || x.Headers[2].Value == nil || string(x.Headers[3].Value) != "\x00\xff" || string(x.Headers[1].Name) != "a" {
		t.Errorf("headers are %q", x.Headers)
	}
}

func TestLogAppendTime(t *testing.T) {
	m := made{first: 1, attributes: 8, firstTime: 5, maxTime: 77, records: []kmsg.Record{rec(0, "a", "b"), rec(1, "a", "b")}}
	got, b := readAll(t, m.bytes(t), 1<<20)
	if !b.LogAppendTime() || got[0].TimestampMS != 77 || got[1].TimestampMS != 77 {
		t.Errorf("timestamps %d and %d, want the broker's 77", got[0].TimestampMS, got[1].TimestampMS)
	}
}

func TestCodecs(t *testing.T) {
	value := strings.Repeat("what is said twice compresses, what is said twice compresses; ", 500)
	for _, c := range []struct {
		name   string
		codec  kgo.CompressionCodec
		xerial bool
	}{
		{"none", kgo.NoCompression(), false}, {"gzip", kgo.GzipCompression(), false}, {"snappy", kgo.SnappyCompression(), false},
		{"snappy of the Java library", kgo.SnappyCompression(), true}, {"lz4", kgo.Lz4Compression(), false}, {"zstd", kgo.ZstdCompression(), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := made{records: []kmsg.Record{rec(0, "k", value), rec(1, "k", value)}, codec: c.codec, xerial: c.xerial}
			raw := m.bytes(t)
			for range 2 { // the second time with memory that was used
				got, _ := readAll(t, raw, 1<<20)
				if len(got) != 2 || string(got[1].Value) != value {
					t.Fatal("what came out is not what went in")
				}
			}
			if c.name == "none" {
				return
			}
			b, _, err := Read(raw)
			if err != nil {
				t.Fatal(err)
			}
			d := NewDecompressor(10_000)
			defer d.Close()
			if _, err := d.Expand(&b); !errors.Is(err, ErrTooLarge) {
				t.Errorf("expanding %d bytes under a limit of 10000: %v", 2*len(value), err)
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	good := made{first: 3, records: []kmsg.Record{rec(0, "k", "v")}}.bytes(t)
	change := func(f func(b []byte)) []byte {
		b := bytes.Clone(good)
		f(b)
		return b
	}
	for _, c := range []struct {
		name string
		in   []byte
		want string
	}{
		{"nothing", nil, "cut off"},
		{"cut off", good[:len(good)-1], "cut off"},
		{"flipped bit", change(func(b []byte) { b[len(b)-1] ^= 1 }), "checksum"},
		{"old format", change(func(b []byte) { b[magicAt] = 1 }), "message format 1"},
		{"short length", change(func(b []byte) { binary.BigEndian.PutUint32(b[8:], 3) }), "shorter than its header"},
		{"negative offset", seal(change(func(b []byte) { binary.BigEndian.PutUint64(b, 1<<63) })), "is none"},
		{"negative count", seal(change(func(b []byte) { binary.BigEndian.PutUint32(b[57:], 1<<31) })), "records"},
		{"ends before it begins", seal(change(func(b []byte) { binary.BigEndian.PutUint32(b[23:], 0xfffffff0) })), "before it begins"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := Read(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v does not say %q", err, c.want)
			}
		})
	}
}

func TestRecordRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload []byte
	}{
		{"too few", nil},
		{"length passes the end", []byte{100, 0}},
		{"key passes the end", []byte{12, 0, 0, 0, 40, 1, 1}},
		{"headers without bytes", []byte{16, 0, 0, 0, 1, 1, 0xfe, 0xff, 0x7f}},
		{"offset outside of the batch", []byte{12, 0, 0, 90, 1, 1, 0}},
		{"null header name", []byte{18, 0, 0, 0, 1, 1, 2, 1, 1, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Reader
			for r.Reset(&Batch{First: 1, Next: 2, Records: 1}, c.payload); r.Next() != nil; {
			}
			if r.Err() == nil {
				t.Error("it was read")
			}
		})
	}
}

func TestNext(t *testing.T) {
	a := made{first: 5, lastDelta: 4, records: []kmsg.Record{rec(0, "k", "v")}}.bytes(t)
	b := made{first: 10, records: []kmsg.Record{rec(0, "k", "v"), rec(1, "k", "v")}}.bytes(t)
	both := append(bytes.Clone(a), b...)
	for _, c := range []struct {
		name        string
		in          []byte
		next        int64
		firsts      []int64
		whole, from int
	}{
		{"nothing", nil, 7, nil, 0, 7},
		{"both", both, 12, []int64{7, 10}, len(both), 7},
		{"the second is cut off", both[:len(both)-1], 10, []int64{7}, len(a), 7},
		{"already past it", a, 50, nil, len(a), 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			var firsts []int64
			next, whole := Next(c.in, int64(c.from), func(epoch int32, first int64) {
				firsts = append(firsts, first)
				if epoch != 7 {
					t.Errorf("the batch at %d has epoch %d, want 7", first, epoch)
				}
			})
			if next != c.next || whole != c.whole || !slices.Equal(firsts, c.firsts) {
				t.Errorf("Next = %d, %d, batches at %v, want %d, %d, %v", next, whole, firsts, c.next, c.whole, c.firsts)
			}
		})
	}
}

// marker is a control batch: commit or abort of a producer's transaction.
func marker(first, producer int64, commit byte) made {
	return made{first: first, attributes: 16 | 32, producer: producer, records: []kmsg.Record{{Key: []byte{0, 0, 0, commit}, Value: []byte{0, 0, 0, 0, 0, 0}}}}
}

func TestAborted(t *testing.T) {
	data := func(first, producer int64) made {
		return made{first: first, attributes: 16, producer: producer, records: []kmsg.Record{rec(0, "", "")}}
	}
	log := []struct {
		made
		hidden bool
	}{
		{data(0, 1), false}, // committed
		{marker(1, 1, 1), false},
		{data(2, 1), true}, // aborted
		{data(3, 2), false},
		{marker(4, 1, 0), false},
		{data(5, 1), false}, // committed, between two aborted ones
		{marker(6, 1, 1), false},
		{data(7, 1), true},
		{marker(8, 1, 0), false},
		{data(9, 1), false},
		{made{first: 10, producer: 1, records: []kmsg.Record{rec(0, "", "")}}, false}, // in no transaction
	}
	var a Aborted
	a.Add(9, 0) // of an earlier response
	a.Reset()
	a.Add(1, 7) // in any order
	a.Add(1, 2)
	for _, l := range log {
		b, _, err := Read(l.bytes(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Hides(&b); got != l.hidden {
			t.Errorf("batch at %d: hidden %t, want %t", b.First, got, l.hidden)
		}
		if b.Control() {
			var r Reader
			r.Reset(&b, b.Payload)
			a.Marker(&b, &r)
		}
	}
}
