package sink

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// replayAll replays a window and checks what holds for any: batches ascend,
// rows lie in their spans, and the spans are those that are reported.
func replayAll(t testing.TB, s *Sink, stream sdk.Stream, from, next int64) (recs []frame.Record, read []sdk.Span) {
	t.Helper()
	at := int64(-1)
	var given []sdk.Span
	read, err := s.Replay(context.Background(), sdk.Window{Stream: stream, From: from, Next: next}, func(b *sdk.Batch) error {
		sp := b.Spans[0]
		if len(b.Spans) != 1 || sp.From < at || sp.Next <= sp.From || sp.From < from || sp.Next > next {
			return fmt.Errorf("spans %+v after %d", b.Spans, at)
		}
		v := b.Frame.Clone()
		for i := range v.NumRecords() {
			var r frame.Record
			v.Record(i, &r)
			if r.Position < sp.From || r.Position >= sp.Next || !bytes.Equal(b.IDs[16*i:16*i+16], appendID(nil, stream, r.Position)) {
				return fmt.Errorf("position %d with id %x in span %+v", r.Position, b.IDs[16*i:16*i+16], sp)
			}
			recs = append(recs, r)
		}
		at = sp.Next
		if n := len(given); n > 0 && given[n-1].Next == sp.From {
			given[n-1].Next = sp.Next
		} else {
			given = append(given, sp)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(given, read) {
		t.Fatalf("read %v, and the batches have %v", read, given)
	}
	return recs, read
}

func spansOf(ss []sdk.Span) (out string) {
	for _, s := range ss {
		out += fmt.Sprintf("[%d,%d)", s.From, s.Next)
	}
	return out
}

func at(recs []frame.Record) (out []int64) {
	for _, r := range recs {
		out = append(out, r.Position)
	}
	return out
}

// Rows of a stream need not be in order in a file: what was sent again is.
func TestReplayIsInOrderWhereFilesAreNot(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, `,"row_group_rows":7`)
	ses := openSession(t, s, sdk.GranularityBatch)
	for _, from := range []int64{40, 0, 60, 20} { // one file
		ses.write(full(t, streamA, sdk.Epoch{}, from, from+10))
		ses.write(full(t, streamB, sdk.Epoch{}, from, from+10))
	}
	ses.flush()
	ses.outcome(ses.seq)
	for _, from := range []int64{30, 10} { // and others
		seq := ses.write(full(t, streamA, sdk.Epoch{}, from, from+10))
		ses.flush()
		ses.outcome(seq)
	}
	recs, read := replayAll(t, s, streamA, 5, 65)
	if want := append(count(5, 50), count(60, 65)...); spansOf(read) != "[5,50)[60,65)" || !slices.Equal(at(recs), want) {
		t.Errorf("read %s: %v", spansOf(read), at(recs))
	}
	for _, r := range recs {
		if string(r.Value) != string(rec(r.Position).Value) {
			t.Errorf("position %d has value %q", r.Position, r.Value)
		}
	}
}

// Frames are bounded in rows and in bytes; a larger record travels alone.
func TestReplayCutsFrames(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	ses := openSession(t, s, sdk.GranularityBatch)
	small := make([]frame.Record, 5000)
	for i := range small {
		small[i] = rec(int64(i))
	}
	ses.write(batchOf(t, streamA, sdk.Epoch{}, 0, 5000, small...))
	var large []frame.Record
	for i, size := range []int{100, 3 << 20, 100, 600 << 10, 600 << 10, 5 << 20} {
		large = append(large, frame.Record{Position: 5000 + int64(i), Value: make([]byte, size)})
	}
	ses.write(batchOf(t, streamA, sdk.Epoch{}, 5000, 5006, large...))
	ses.flush()
	ses.outcome(ses.seq)
	var rows []int
	_, err := s.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 9999}, func(b *sdk.Batch) error {
		if n := b.Frame.NumRecords(); n > 1 && b.Frame.Len() > sdk.DefaultLimits.FrameBytes+4096 {
			t.Errorf("%d rows in %d bytes", n, b.Frame.Len())
		}
		rows = append(rows, b.Frame.NumRecords())
		return nil
	})
	if err != nil || !slices.Equal(rows, []int{2048, 2048, 905, 1, 2, 1, 1}) {
		t.Errorf("%v, %v", rows, err)
	}
}

// A file that is gone when its turn comes is not reported.
func TestReplayOfWhatIsPrunedMeanwhile(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamA)
	ses := openSession(t, s, sdk.GranularityBatch)
	for p := int64(0); p < 50; p += 10 {
		ses.write(full(t, streamA, e, p, p+10))
		ses.flush()
		ses.outcome(ses.seq)
	}
	if _, read := replayAll(t, s, streamA, 0, 50); spansOf(read) != "[0,50)" {
		t.Fatal(spansOf(read))
	}
	m.Delete(dirlog.FileName(4)) // [20,30), as if a checkpoint stood for it
	if recs, read := replayAll(t, s, streamA, 0, 50); spansOf(read) != "[0,20)[30,50)" || len(recs) != 40 {
		t.Errorf("%d rows, read %s", len(recs), spansOf(read))
	}
}

// What is damaged is not given, and the error names the file.
func TestReplayOfDamage(t *testing.T) {
	for name, spoil := range map[string]func(m *disk.Mem, file string){
		"a page":   func(m *disk.Mem, file string) { b := bytes.Clone(m.Bytes(file)); b[len(b)/4] ^= 0x10; m.Put(file, b) },
		"a footer": func(m *disk.Mem, file string) { b := bytes.Clone(m.Bytes(file)); b[len(b)-20] ^= 0x10; m.Put(file, b) },
		"its end":  func(m *disk.Mem, file string) { b := m.Bytes(file); m.Put(file, b[:len(b)-1]) },
	} {
		t.Run(name, func(t *testing.T) {
			m := disk.NewMem()
			s := newSink(t, m, "")
			ses := openSession(t, s, sdk.GranularityBatch)
			for p := int64(0); p < 2000; p += 1000 {
				ses.write(full(t, streamA, sdk.Epoch{}, p, p+1000))
				ses.flush()
				ses.outcome(ses.seq)
			}
			spoil(m, dirlog.FileName(2))
			read, err := s.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 2000}, func(b *sdk.Batch) error {
				if b.Spans[0].Next > 1000 {
					t.Errorf("%+v was given", b.Spans[0])
				}
				return nil
			})
			if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "commit 2 (000000000002.parquet)") || spansOf(read) > "[0,1000)" {
				t.Errorf("read %s, %v", spansOf(read), err)
			}
			if name != "a page" {
				return // what the file holds is not known: nothing can be said of any window
			}
			if _, read := replayAll(t, s, streamA, 0, 1000); spansOf(read) != "[0,1000)" {
				t.Errorf("what is sound: read %s", spansOf(read))
			}
		})
	}
}

// Every bit of a page that is flipped is noticed, or changes nothing.
func TestReplayNoticesAnyFlippedBit(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, `,"compression":"none"`)
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 20))
	ses.flush()
	ses.outcome(ses.seq)
	file := dirlog.FileName(1)
	good := bytes.Clone(m.Bytes(file))
	want, _ := replayAll(t, s, streamA, 0, 20)
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 1 << (i % 8)
		m.Put(file, b)
		var got []frame.Record
		_, err := s.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 20}, func(b *sdk.Batch) error {
			v := b.Frame.Clone()
			for i := range v.NumRecords() {
				var r frame.Record
				v.Record(i, &r)
				got = append(got, r)
			}
			return nil
		})
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("byte %d of %d: %d rows, other than were written", i, len(good), len(got))
		}
	}
}

// The id of a row is its stream's and its position's, or the row is another.
func TestReplayChecksRecordIDs(t *testing.T) {
	for name, spoil := range map[string]func(ids []byte){
		"of another position": func(ids []byte) { ids[5*16+7]++ },
		"of another stream":   func(ids []byte) { ids[5*16]++ },
	} {
		s := newSink(t, disk.NewMem(), "")
		ses := openSession(t, s, sdk.GranularityBatch)
		b := full(t, streamA, sdk.Epoch{}, 0, 10)
		spoil(b.IDs)
		ses.write(b)
		ses.flush()
		ses.outcome(ses.seq)
		_, err := s.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 10}, func(*sdk.Batch) error { return nil })
		if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "position 5") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReplayEnds(t *testing.T) {
	s := newSink(t, disk.NewMem(), "")
	ses := openSession(t, s, sdk.GranularityBatch)
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 9000))
	ses.flush()
	ses.outcome(ses.seq)
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	read, err := s.Replay(ctx, sdk.Window{Stream: streamA, Next: 9000}, func(*sdk.Batch) error { calls++; cancel(); return nil })
	if !errors.Is(err, context.Canceled) || calls != 1 || spansOf(read) != "[0,2048)" {
		t.Errorf("canceled: %d calls, read %s, %v", calls, spansOf(read), err)
	}
	enough := errors.New("enough")
	read, err = s.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 9000}, func(*sdk.Batch) error { return enough })
	if err != enough || len(read) != 0 {
		t.Errorf("the reader's error: read %v, %v", read, err)
	}
}

// What is reported survives the loss of power, also when its writer died
// between link and fsync.
func TestReplayReportsWhatIsDurable(t *testing.T) {
	m := disk.NewMem()
	dir := m.Dir()
	s := NewOn(func(string, bool) (disk.Dir, error) { return dir, nil })
	configure(t, s, "mem", "")
	ses := openSession(t, s, sdk.GranularityBatch)
	linked := false
	m.Fail = func(op, _ string) error {
		linked = linked || op == "link"
		if linked && op == "syncdir" {
			return disk.ErrKilled
		}
		return nil
	}
	ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
	ses.flush()
	if got := ses.outcome(ses.seq); got != 0 {
		t.Fatal(got)
	}
	m.Fail = nil
	dir.Kill()
	_, read := replayAll(t, newSink(t, m, ""), streamA, 0, 10)
	if spansOf(read) != "[0,10)" {
		t.Fatal(spansOf(read))
	}
	m.PowerCut(func(string) bool { return false })
	if got := positions(rows(t, m.Dir())); !slices.Equal(got, count(0, 10)) {
		t.Errorf("reported as read, and after the power cut there is %v", got)
	}
}

// An error of the disk is not the file's.
func TestReplayOverAFailingDisk(t *testing.T) {
	for step := range 20 {
		m := disk.NewMem()
		s := newSink(t, m, "")
		ses := openSession(t, s, sdk.GranularityBatch)
		ses.write(full(t, streamA, sdk.Epoch{}, 0, 10))
		ses.flush()
		ses.outcome(ses.seq)
		other := newSink(t, m, "")
		n := step
		m.Fail = func(string, string) error {
			if n--; n == -1 {
				return syscall.EIO
			}
			return nil
		}
		read, err := other.Replay(context.Background(), sdk.Window{Stream: streamA, Next: 10}, func(*sdk.Batch) error { return nil })
		m.Fail = nil
		if n >= 0 {
			return
		}
		if !errors.Is(err, syscall.EIO) || sdk.KindOf(err) != sdk.KindRetryable || len(read) > 0 {
			t.Fatalf("step %d: read %v, %v", step, read, err)
		}
		if _, read := replayAll(t, other, streamA, 0, 10); spansOf(read) != "[0,10)" {
			t.Errorf("step %d: afterwards read %s", step, spansOf(read))
		}
	}
	t.Error("there are more steps than were tried")
}

// Whatever was written, in whatever order, comes back.
func TestReplayAgainstWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := disk.NewMem()
		s := newSink(t, m, fmt.Sprintf(`,"row_group_rows":%d,"max_file_rows":%d,"compression":%q`, rapid.IntRange(1, 30).Draw(rt, "row group"),
			rapid.IntRange(1, 60).Draw(rt, "file"), rapid.SampledFrom([]string{"zstd", "snappy", "none"}).Draw(rt, "compression")))
		ses := openSession(t, s, sdk.GranularityBatch)
		want := map[place]frame.Record{}
		held := map[place]bool{}
		for range rapid.IntRange(1, 12).Draw(rt, "batches") {
			stream := []sdk.Stream{streamA, streamB, {Topic: strings.Repeat("long", 20)}}[rapid.IntRange(0, 2).Draw(rt, "stream")]
			from := rapid.Int64Range(0, 60).Draw(rt, "from")
			next := from + rapid.Int64Range(1, 30).Draw(rt, "length")
			var recs []frame.Record
			for p := from; p < next; p++ {
				if !delivered(p) {
					continue
				}
				r := anyRecord(rt, p)
				if old, ok := want[place{stream, p}]; ok {
					r = old // a record is the same whenever it is delivered
				}
				recs = append(recs, r)
			}
			ses.write(batchOf(t, stream, sdk.Epoch{}, from, next, recs...))
			for _, r := range recs {
				want[place{stream, r.Position}] = r
			}
			for p := from; p < next; p++ {
				held[place{stream, p}] = true
			}
			if rapid.IntRange(0, 3).Draw(rt, "flush") == 0 {
				ses.flush()
				ses.outcome(ses.seq)
			}
		}
		if err := ses.Close(context.Background()); err != nil {
			rt.Fatal(err)
		}
		from := rapid.Int64Range(0, 90).Draw(rt, "window from")
		next := from + rapid.Int64Range(1, 90).Draw(rt, "window length")
		for _, stream := range []sdk.Stream{streamA, streamB, {Topic: strings.Repeat("long", 20)}} {
			recs, read := replayAll(t, s, stream, from, next)
			for p := from; p < next; p++ {
				in := slices.ContainsFunc(read, func(s sdk.Span) bool { return s.From <= p && p < s.Next })
				if in != held[place{stream, p}] {
					rt.Fatalf("position %d of %s: read %v, held %v", p, stream, in, held[place{stream, p}])
				}
				k, found := slices.BinarySearchFunc(recs, p, func(r frame.Record, p int64) int { return cmp.Compare(r.Position, p) })
				w, there := want[place{stream, p}]
				if found != there || found && !sameRecord(recs[k], w) {
					rt.Fatalf("position %d of %s: %+v, want %+v", p, stream, recs[min(k, len(recs)-1)], w)
				}
			}
		}
	})
}

func anyRecord(t *rapid.T, p int64) frame.Record {
	bytesOrNull := rapid.Custom(func(t *rapid.T) []byte {
		if rapid.Bool().Draw(t, "null") {
			return nil
		}
		return rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes")
	})
	r := frame.Record{Position: p, TimestampMS: rapid.Int64().Draw(t, "timestamp"), Key: bytesOrNull.Draw(t, "key"), Value: bytesOrNull.Draw(t, "value")}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		r.Headers = append(r.Headers, frame.Header{Name: string(rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "name")), Value: bytesOrNull.Draw(t, "header")})
	}
	return r
}

func sameRecord(a, b frame.Record) bool {
	if a.TimestampMS != b.TimestampMS || !same(a.Key, b.Key) || !same(a.Value, b.Value) || len(a.Headers) != len(b.Headers) {
		return false
	}
	for i, h := range a.Headers {
		if h.Name != b.Headers[i].Name || !same(h.Value, b.Headers[i].Value) {
			return false
		}
	}
	return true
}
