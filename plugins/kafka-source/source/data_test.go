package source

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/plugins/kafka-source/recordbatch"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// TestDelivery: all of three partitions once, and committed to their ends.
// The codec makes no difference.
func TestDelivery(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(3, "orders", nil)
	for p := range int32(3) {
		b.fill("orders", p, 0, 1000)
	}
	h := newHost(t).open(b.settings("g", "orders"))
	rows := h.untilRows(3000)
	for i, r := range rows {
		if want := fmt.Sprintf("value %d of partition %d", r.position, r.stream.Partition); string(r.value) != want || string(r.key) != fmt.Sprintf("k%d", r.position) {
			t.Fatalf("row %d at %d is %q, want %q", i, r.position, r.value, want)
		}
	}
	if len(rows) != 3000 {
		t.Errorf("%d rows, want 3000", len(rows))
	}
	for p := range int32(3) {
		b.untilCommitted("g", "orders", p, 1000)
	}
	id := h.assigned[0].Stream
	if id.Cluster != "testcluster" || len(id.Incarnation) != 36 {
		t.Errorf("stream %+v lacks the cluster's or the topic's id", id)
	}
}

// TestRecordsAsTheyAre is cases 9 and 10: null is not empty, header names
// repeat and keep their order, and any byte is legal.
func TestRecordsAsTheyAre(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "odd", nil)
	at := time.UnixMilli(1234567890123)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	in := []*kgo.Record{
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: all, Value: all},
		{Key: nil, Value: []byte("v"), Headers: []kgo.RecordHeader{
			{Key: "dup", Value: []byte("1")}, {Key: "other", Value: nil}, {Key: "dup", Value: []byte{}}, {Key: "dup", Value: all}, {Key: "", Value: []byte("x")},
		}},
		{Key: []byte("k"), Value: nil, Headers: []kgo.RecordHeader{{Key: "dup", Value: nil}}},
	}
	for _, r := range in {
		r.Topic, r.Timestamp = "odd", at
	}
	b.produce(in...)
	h := newHost(t).open(b.settings("g", "odd"))
	for i, r := range h.untilRows(len(in)) {
		checkRecord(t, i, r, in[i])
		if r.timestamp != at.UnixMilli() || frame.TimestampKind(r.kind) != frame.TimestampCreate {
			t.Errorf("row %d has time %d of kind %d", i, r.timestamp, r.kind)
		}
	}
}

func checkRecord(t *testing.T, i int, got row, want *kgo.Record) {
	t.Helper()
	same := func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
	if !same(got.key, want.Key) || !same(got.value, want.Value) {
		t.Errorf("row %d is %#v: %#v, want %#v: %#v", i, got.key, got.value, want.Key, want.Value)
	}
	if len(got.headers) != len(want.Headers) {
		t.Errorf("row %d has headers %q, want %q", i, got.headers, want.Headers)
		return
	}
	for j, h := range got.headers {
		if h.name != want.Headers[j].Key || !same(h.value, want.Headers[j].Value) {
			t.Errorf("row %d header %d is %q: %#v, want %q: %#v", i, j, h.name, h.value, want.Headers[j].Key, want.Headers[j].Value)
		}
	}
}

// TestAppendTime: the embedded broker cannot stamp records, so the batch is
// made here.
func TestAppendTime(t *testing.T) {
	r := kmsg.Record{Length: 6, TimestampDelta64: 1}
	batch := kmsg.RecordBatch{Magic: 2, Attributes: 8, FirstTimestamp: 5, MaxTimestamp: 77, NumRecords: 1, Records: r.AppendTo(nil)}
	h := newHost(t)
	h.commit = false
	id := sdk.Stream{Topic: "t"}
	h.runs[1] = &hostRun{stream: id}
	x := &run{id: 1, stream: id}
	s := newTestSender(h)
	if err := s.chunk(t.Context(), chunk{parts: []part{{run: x, next: 1, batches: sealed(batch)}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := h.untilRows(1)[0]; frame.TimestampKind(r.kind) != frame.TimestampAppend || r.timestamp != 77 {
		t.Errorf("time %d of kind %d, want the broker's 77", r.timestamp, r.kind)
	}
}

// sealed encodes a batch with its length and checksum.
func sealed(b kmsg.RecordBatch) []byte {
	raw := b.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

func newTestSender(h *host) *sender {
	return &sender{table: newTable(), events: h, limits: h.limits, budget: newBudget(1 << 30), maxRecord: maxRecord, expand: recordbatch.NewDecompressor(1 << 20)}
}

// TestGaps is case 2: whatever the log has no record for, its positions are
// inside spans, and commits go on to the end.
func TestGaps(t *testing.T) {
	compact := map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "min.cleanable.dirty.ratio": kadm.StringPtr("0")}
	for _, c := range []struct {
		name   string
		config map[string]*string
		log    func(b *broker)
		values []string
		end    int64
	}{
		{"transactions, the last aborted", nil, func(b *broker) {
			b.transaction("t", 2, true)
			b.transaction("t", 3, false)
			b.produce(&kgo.Record{Topic: "t", Value: []byte("plain")})
			b.transaction("t", 1, true)
			b.transaction("t", 2, false)
		}, []string{"commit=true 0", "commit=true 1", "plain", "commit=true 0"}, 13},
		{"nothing but an aborted transaction", nil, func(b *broker) { b.transaction("t", 4, false) }, nil, 5},
		{"compaction", compact, func(b *broker) {
			for i := range 20 {
				b.produce(&kgo.Record{Topic: "t", Key: fmt.Appendf(nil, "k%d", i%3), Value: fmt.Appendf(nil, "v%d", i)})
			}
			b.produce(&kgo.Record{Topic: "t", Key: []byte("other"), Value: []byte("last")})
			b.Compact()
		}, []string{"v17", "v18", "v19", "last"}, 21},
		{"deleted records", nil, func(b *broker) {
			b.fill("t", 0, 0, 10)
			if err := b.DeleteRecords("t", 0, 7); err != nil {
				b.t.Fatal(err)
			}
		}, []string{"value 7 of partition 0", "value 8 of partition 0", "value 9 of partition 0"}, 10},
		{"all records deleted", nil, func(b *broker) {
			b.fill("t", 0, 0, 10)
			if err := b.DeleteRecords("t", 0, 10); err != nil {
				b.t.Fatal(err)
			}
		}, nil, 10},
		{"no record ever", nil, func(*broker) {}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", c.config)
			c.log(b)
			h := newHost(t).open(b.settings("g", "t"))
			h.untilAt("t", 0, c.end)
			b.untilCommitted("g", "t", 0, c.end)
			var got []string
			for _, r := range h.got() {
				got = append(got, string(r.value))
			}
			if fmt.Sprint(got) != fmt.Sprint(c.values) {
				t.Errorf("values %q, want %q", got, c.values)
			}
			h.until("lag", func() bool { return len(h.ends) == 1 })
			if end := h.ends[h.assigned[0].Stream]; end != c.end {
				t.Errorf("the stream is said to end at %d, want %d", end, c.end)
			}
		})
	}
}

// TestOpenTransaction: what is not committed yet is neither delivered nor
// counted as the end.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	b.produce(&kgo.Record{Topic: "t", Value: []byte("before")})
	p, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.TransactionalID("open"), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	ctx := context.Background()
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := p.ProduceSync(ctx, kgo.StringRecord("within")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.produce(&kgo.Record{Topic: "t", Value: []byte("behind")})
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(1)
	h.until("lag", func() bool { return len(h.ends) == 1 })
	if end := h.ends[h.assigned[0].Stream]; end != 1 || len(h.got()) != 1 {
		t.Errorf("%d rows and an end of %d while the transaction is open, want 1 and 1", len(h.got()), end)
	}
	if err := p.EndTransaction(ctx, kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	h.untilRows(3)
	b.untilCommitted("g", "t", 0, 4)
}

// TestEmptyTail: a log whose tail was compacted away altogether answers with
// no byte before its end. That is gone past only if the position is on the
// broker's own disk.
func TestEmptyTail(t *testing.T) {
	for _, c := range []struct {
		name  string
		local int64
		code  int16
		moves bool
	}{
		{"on its disk", 0, 0, true},
		{"a broker without remote stores", 0, kerr.UnsupportedVersion.Code, true},
		{"in a remote store", 5, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", nil)
			b.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
				b.KeepControl()
				return emptyFetch(r.(*kmsg.FetchRequest), 10), nil, true
			})
			asked := make(chan struct{}, 100)
			b.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
				b.KeepControl()
				req := r.(*kmsg.ListOffsetsRequest)
				if req.Topics[0].Partitions[0].Timestamp != atEarliestLocal {
					return nil, nil, false
				}
				asked <- struct{}{}
				return localOffset(req, c.local, c.code), nil, true
			})
			h := newHost(t).open(b.settings("g", "t"))
			if c.moves {
				h.untilAt("t", 0, 10)
				b.untilCommitted("g", "t", 0, 10)
				return
			}
			<-asked
			<-asked // it has thought about the first answer
			h.mu.Lock()
			defer h.mu.Unlock()
			if h.batches > 0 {
				t.Error("positions were gone past that a remote store may hold")
			}
		})
	}
}

// emptyFetch answers that the log ends at end and has nothing to give.
func emptyFetch(req *kmsg.FetchRequest, end int64) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.HighWatermark, rp.LastStableOffset, rp.RecordBatches = p.Partition, end, end, []byte{}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func localOffset(req *kmsg.ListOffsetsRequest, offset int64, code int16) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	t := kmsg.NewListOffsetsResponseTopic()
	t.Topic = req.Topics[0].Topic
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.Offset, p.ErrorCode = req.Topics[0].Partitions[0].Partition, offset, code
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

// TestSizes is case 5: a record that is larger than a frame travels alone,
// and many of middling size are split by bytes.
func TestSizes(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", map[string]*string{"max.message.bytes": kadm.StringPtr("20000000")})
	p, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.ProducerBatchMaxBytes(20_000_000), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	large := strings.Repeat("x", 5<<20)
	records := []*kgo.Record{kgo.StringRecord("small"), kgo.StringRecord(large), kgo.StringRecord("small")}
	for range 1000 {
		records = append(records, kgo.StringRecord(strings.Repeat("y", 5<<10)))
	}
	if err := p.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	h := newHost(t).open(b.settings("g", "t"))
	rows := h.untilRows(len(records))
	if len(rows[1].value) != len(large) {
		t.Errorf("the large record has %d bytes", len(rows[1].value))
	}
	for _, s := range h.sizes {
		if s.bytes > sdk.DefaultLimits.FrameBytes+frameSlack && s.rows != 1 {
			t.Errorf("a frame of %d rows has %d bytes", s.rows, s.bytes)
		}
	}
	if h.batches < 6 || h.batches > 20 {
		t.Errorf("%d batches for 10 MiB, want about one a MiB", h.batches)
	}
}

// frameSlack is what a frame may have beyond its rows: header and alignment.
const frameSlack = 16 << 10

// TestSpanSizes: a span says what it took on the wire and takes in memory.
func TestSpanSizes(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(1, "t", nil)
	p, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.DefaultProduceTopic("t"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	records := make([]*kgo.Record, 100)
	for i := range records {
		records[i] = kgo.StringRecord(strings.Repeat("again ", 200))
	}
	if err := p.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(100)
	if h.expanded != 100*1200 {
		t.Errorf("spans expand to %d bytes, want %d", h.expanded, 100*1200)
	}
	if h.compressed < 50 || h.compressed > 5000 {
		t.Errorf("spans took %d bytes on the wire; they compress well", h.compressed)
	}
}
