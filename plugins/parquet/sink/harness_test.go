package sink

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

var streamA = sdk.Stream{Cluster: "c", Topic: "orders", Incarnation: "i1", Partition: 3}
var streamB = sdk.Stream{Cluster: "c", Topic: "orders", Incarnation: "i1", Partition: 4}

// newSink returns a configured sink on m. set is a JSON object without "dir".
func newSink(t testing.TB, m *disk.Mem, set string) *Sink {
	t.Helper()
	s := NewOn(func(string, bool) (disk.Dir, error) { return m.Dir(), nil })
	configure(t, s, "mem", set)
	return s
}

func configure(t testing.TB, s *Sink, dir, set string) {
	t.Helper()
	json := fmt.Sprintf(`{"dir":%q%s}`, dir, set)
	if _, diags := s.Configure(sdk.NewSettings([]byte(json))); diags.HasErrors() {
		t.Fatalf("configure %s: %v", json, diags)
	}
}

// session is an open session and what it reported.
type session struct {
	t testing.TB
	sdk.Writer
	seq uint64

	mu       sync.Mutex
	changed  chan struct{}
	receipts map[uint64]sdk.Receipt
	failed   error
}

var sessionIDs uint64

func openSession(t testing.TB, s *Sink, g sdk.Granularity) *session {
	t.Helper()
	sessionIDs++
	ses := &session{t: t, receipts: map[uint64]sdk.Receipt{}, changed: make(chan struct{})}
	w, err := s.Open(context.Background(), sdk.Session{ID: sessionIDs, Granularity: g, Report: ses.report, Fail: ses.fail})
	if err != nil {
		t.Fatal(err)
	}
	ses.Writer = w
	t.Cleanup(w.(*writer).abort)
	return ses
}

func (s *session) report(r sdk.Receipt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.receipts[r.Seq]; twice {
		s.t.Errorf("batch %d was answered twice", r.Seq)
	}
	s.receipts[r.Seq] = r
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	close(s.changed)
	s.changed = make(chan struct{})
}

// write sends a batch and returns its seq.
func (s *session) write(b *sdk.Batch) uint64 {
	s.t.Helper()
	seq, err := s.try(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return seq
}

func (s *session) try(b *sdk.Batch) (uint64, error) {
	s.seq++
	b.Seq = s.seq
	return b.Seq, s.Write(context.Background(), b)
}

func (s *session) flush() {
	s.t.Helper()
	if err := s.Writer.(sdk.Flusher).Flush(context.Background(), s.seq); err != nil {
		s.t.Fatal(err)
	}
}

// outcome waits for the answer to a batch of one span; 0: the session failed.
func (s *session) outcome(seq uint64) sdk.OutcomeKind {
	s.t.Helper()
	r, ok := s.wait(seq)
	if !ok {
		return 0
	}
	return r.Outcomes[0].Kind
}

func (s *session) wait(seq uint64) (sdk.Receipt, bool) {
	s.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		s.mu.Lock()
		r, ok := s.receipts[seq]
		failed, changed := s.failed, s.changed
		s.mu.Unlock()
		if ok || failed != nil {
			return r, ok
		}
		select {
		case <-changed:
		case <-deadline:
			s.t.Fatalf("batch %d was not answered", seq)
		}
	}
}

// rec is a record with a value of its position.
func rec(p int64) frame.Record {
	return frame.Record{Position: p, TimestampMS: 1000 + p, Value: fmt.Appendf(nil, "value %d", p)}
}

// batchOf makes a batch of one span.
func batchOf(t testing.TB, s sdk.Stream, e sdk.Epoch, from, next int64, recs ...frame.Record) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	k := b.Stream(s)
	var ids []byte
	for _, r := range recs {
		b.Append(k, &r)
		ids = appendID(ids, s, r.Position)
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: ids, Spans: []sdk.Span{{Stream: s, From: from, Next: next, Run: 1, Epoch: e}}}
}

// appendID makes a record id in the frozen layout: 16 bits of the stream, 48 of
// the position, and 64 of the content.
func appendID(ids []byte, s sdk.Stream, position int64) []byte {
	ids = binary.BigEndian.AppendUint64(ids, uint64(s.Partition)<<48|uint64(position))
	return binary.BigEndian.AppendUint64(ids, uint64(position)*0x9e3779b97f4a7c15)
}

// full is a batch with a record at every position.
func full(t testing.TB, s sdk.Stream, e sdk.Epoch, from, next int64) *sdk.Batch {
	var recs []frame.Record
	for p := from; p < next; p++ {
		recs = append(recs, rec(p))
	}
	return batchOf(t, s, e, from, next, recs...)
}

func acquire(t testing.TB, s *Sink, owner string, st ...sdk.Stream) sdk.Epoch {
	t.Helper()
	a, err := s.Acquire(context.Background(), owner, st)
	if err != nil {
		t.Fatal(err)
	}
	return a[0].Epoch
}

// rows reads all files that a reader of *.parquet sees.
func rows(t testing.TB, d disk.Dir) []rawfile.Row {
	t.Helper()
	names, err := d.List()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	var out []rawfile.Row
	for _, name := range names {
		if !strings.HasSuffix(name, ".parquet") {
			continue
		}
		out = append(out, readFile(t, d, name)...)
	}
	return out
}

func readFile(t testing.TB, d disk.Dir, name string) []rawfile.Row {
	t.Helper()
	r, err := d.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[rawfile.Row](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return got
}

func positions(rs []rawfile.Row) []int64 {
	var out []int64
	for _, r := range rs {
		out = append(out, r.Position)
	}
	return out
}

func count(from, next int64) []int64 {
	var out []int64
	for p := from; p < next; p++ {
		out = append(out, p)
	}
	return out
}

// stuckDir is a directory in which the first File.Sync waits for release.
type stuckDir struct {
	disk.Dir
	stuck, release chan struct{}
	once           *sync.Once
}

type stuckFile struct {
	disk.File
	dir stuckDir
}

func (d stuckDir) Create(name string) (disk.File, error) {
	f, err := d.Dir.Create(name)
	return stuckFile{f, d}, err
}

func (f stuckFile) Sync() error {
	f.dir.once.Do(func() { close(f.dir.stuck); <-f.dir.release })
	return f.File.Sync()
}
