package source

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/twg-io/twg/sdk"
)

// TestFailures: what no later attempt can read stops the source, and the
// error names where it is.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Settings)
		log  func(b *broker)
		want []string
	}{
		{"a batch that expands too far", func(s *Settings) { s.MaxBatchBytes = 1 << 20 }, func(b *broker) {
			b.produceZstd("t", strings.Repeat("x", 3<<20))
		}, []string{"t/0", "offset 1", "max_batch_bytes"}},
		{"bytes that are no batch", nil, func(b *broker) {
			b.corrupt(func(raw []byte) { raw[len(raw)-1] ^= 1 })
		}, []string{"t/0", "offset 1", "checksum"}},
		{"an old message format", nil, func(b *broker) {
			b.corrupt(func(raw []byte) { raw[16] = 1 })
		}, []string{"t/0", "offset 1", "message format 1"}},
		{"a topic that may not be read", nil, func(b *broker) {
			b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed, Count: -1})
		}, []string{"t/0", "READ"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.create(1, "t", nil)
			b.produce(&kgo.Record{Topic: "t", Value: []byte("good")})
			set := b.settings("g", "t")
			if c.set != nil {
				c.set(&set)
			}
			c.log(b)
			h := newHost(t).open(set)
			h.until("failure", func() bool { return len(h.failed) > 0 })
			err := h.failed[0]
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not name %q", err, want)
				}
			}
			if sdk.KindOf(err) != sdk.KindFatal {
				t.Errorf("%q is %s, want it fatal", err, sdk.KindOf(err))
			}
		})
	}
}

func (b *broker) produceZstd(topic, value string) {
	b.t.Helper()
	p, err := kgo.NewClient(kgo.SeedBrokers(b.ListenAddrs()...), kgo.ProducerBatchCompression(kgo.ZstdCompression()), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(16<<20))
	if err != nil {
		b.t.Fatal(err)
	}
	defer p.Close()
	if err := p.ProduceSync(context.Background(), kgo.StringRecord(value)).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// corrupt makes fetches from offset 1 on answer with a batch that was changed.
func (b *broker) corrupt(change func(raw []byte)) {
	rec := kmsg.Record{Length: 6}
	batch := kmsg.RecordBatch{FirstOffset: 1, Magic: 2, NumRecords: 1, Records: rec.AppendTo(nil)}
	raw := sealed(batch)
	change(raw)
	b.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		req := r.(*kmsg.FetchRequest)
		if req.Topics[0].Partitions[0].FetchOffset != 1 {
			return nil, nil, false
		}
		resp := emptyFetch(req, 2).(*kmsg.FetchResponse)
		resp.Topics[0].Partitions[0].RecordBatches = raw
		return resp, nil, true
	})
}

// TestRecordThatDoesNotFit names the record.
func TestRecordThatDoesNotFit(t *testing.T) {
	h := newHost(t)
	s := newTestSender(h)
	s.maxRecord = 10
	rec := kmsg.Record{OffsetDelta: 3, Value: make([]byte, 11)}
	rec.Length = int32(len(rec.AppendTo(nil)) - 1)
	batch := kmsg.RecordBatch{FirstOffset: 4, LastOffsetDelta: 3, Magic: 2, NumRecords: 1, Records: rec.AppendTo(nil)}
	x := &run{id: 1, stream: sdk.Stream{Topic: "t", Partition: 2}}
	err := s.chunk(t.Context(), chunk{parts: []part{{run: x, next: 8, batches: sealed(batch)}}})
	if err == nil || sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "t/2") || !strings.Contains(err.Error(), "offset 7") {
		t.Errorf("error %v, want it fatal, with the topic, the partition and the offset", err)
	}
}

// TestDropWhileWaiting: a frame with rows of two streams waits for credit
// while one of them is dropped. Only the other's rows are sent.
func TestDropWhileWaiting(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "t", nil)
	h := newHost(t)
	h.start, h.commit = false, false
	h.open(b.settings("g", "t"))
	h.until("two streams", func() bool { return len(h.assigned) == 2 })
	for p := range int32(2) {
		b.produce(&kgo.Record{Topic: "t", Partition: p, Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}}},
			&kgo.Record{Topic: "t", Partition: p, Value: []byte{}})
	}
	b.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		h.mu.Lock()
		h.credit, h.waiting = 0, 0 // once it was asked for, there is no credit to send it
		h.mu.Unlock()
		return nil, nil, false
	})
	runs := []uint64{newRun(), newRun()}
	var starts []sdk.Start
	h.mu.Lock()
	for i, a := range h.assigned {
		h.runs[runs[i]] = &hostRun{stream: a.Stream}
		starts = append(starts, sdk.Start{Stream: a.Stream, Run: runs[i]})
	}
	h.mu.Unlock()
	if err := h.reader.Start(t.Context(), starts); err != nil {
		t.Fatal(err)
	}
	// The fetcher waits with its next request, the sender with its frame.
	h.until("two that wait for credit", func() bool { return h.waiting == 2 })
	if err := h.drop(t.Context(), runs[:1]); err != nil {
		t.Fatal(err)
	}
	h.grant(1 << 20)
	rows := h.untilRows(2)
	for _, r := range rows {
		if r.run != runs[1] {
			t.Errorf("a row of run %d, which was dropped", r.run)
		}
	}
	if len(rows[0].headers) != 1 || rows[0].headers[0].name != "h" || rows[0].value != nil || rows[1].value == nil {
		t.Errorf("rows %+v are not as they were", rows)
	}
}

// TestOldBroker: without topic ids there is no incarnation, and topics are
// asked for by name.
func TestOldBroker(t *testing.T) {
	t.Parallel()
	b := newBroker(t, kfake.MaxVersions(kversion.V2_7_0()))
	b.create(2, "t", nil)
	for p := range int32(2) {
		b.fill("t", p, 0, 100)
	}
	h := newHost(t).open(b.settings("g", "t"))
	h.untilRows(200)
	for p := range int32(2) {
		b.untilCommitted("g", "t", p, 100)
	}
	if id := h.assigned[0].Stream; id.Incarnation != "" {
		t.Errorf("incarnation %q of a broker that has none", id.Incarnation)
	}
	h.close()
	b.fill("t", 0, 100, 1)
	h = newHost(t).open(b.settings("g", "t"))
	if rows := h.untilRows(1); rows[0].position != 100 {
		t.Errorf("it went on at %d, want 100", rows[0].position)
	}
}

// TestManyTopics of one group, of which one does not exist.
func TestManyTopics(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	b.create(2, "a", nil)
	b.create(1, "b", nil)
	b.fill("a", 0, 0, 10)
	b.fill("a", 1, 0, 10)
	b.fill("b", 0, 0, 10)
	h := newHost(t).open(b.settings("g", "a", "b", "none"))
	h.untilRows(30)
	b.untilCommitted("g", "b", 0, 10)
}

// TestAbortedOfAnotherPartition: a producer's transaction that was aborted in
// one partition says nothing about the same producer's in another.
func TestAbortedOfAnotherPartition(t *testing.T) {
	h := newHost(t)
	h.commit = false
	s := newTestSender(h)
	rec := kmsg.Record{Length: 6}
	var parts []part
	for p := range int32(2) {
		id := sdk.Stream{Topic: "t", Partition: p}
		h.runs[uint64(p)] = &hostRun{stream: id}
		batch := kmsg.RecordBatch{Magic: 2, Attributes: 16, ProducerID: 9, NumRecords: 1, Records: rec.AppendTo(nil)}
		parts = append(parts, part{run: &run{id: uint64(p), stream: id}, next: 1, batches: sealed(batch)})
	}
	parts[0].aborted = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 9}}
	if err := s.chunk(t.Context(), chunk{parts: parts}); err != nil {
		t.Fatal(err)
	}
	if err := s.flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := h.got(); len(rows) != 1 || rows[0].stream.Partition != 1 {
		t.Errorf("rows %+v, want only that of partition 1", rows)
	}
}
