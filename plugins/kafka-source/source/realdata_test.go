//go:build services

package source

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// TestRealRecordsAsTheyAre is cases 9 and 10 with every codec.
func TestRealRecordsAsTheyAre(t *testing.T) {
	b := realBroker(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for codec, c := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		t.Run(codec, func(t *testing.T) {
			b := connect(t, b.addrs)
			topic := name(t)
			b.create(1, topic, nil)
			p, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(c))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			in := []*kgo.Record{
				{Key: nil, Value: nil},
				{Key: []byte{}, Value: []byte{}},
				{Key: all, Value: all},
				{Value: []byte("v"), Headers: []kgo.RecordHeader{
					{Key: "dup", Value: []byte("1")}, {Key: "other"}, {Key: "dup", Value: []byte{}}, {Key: "dup", Value: all}, {Key: "", Value: []byte("x")},
				}},
				{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "dup"}}},
			}
			for i := range 400 {
				in = append(in, &kgo.Record{Value: fmt.Appendf(nil, "value %d, compressible: %0500d", i, i)})
			}
			if err := p.ProduceSync(t.Context(), in...).FirstErr(); err != nil {
				t.Fatal(err)
			}
			h := everything(t, b, topic)
			for i, r := range h.got() {
				checkRecord(t, i, r, in[i])
			}
		})
	}
}

func TestRealAppendTime(t *testing.T) {
	b := realBroker(t)
	b.create(1, name(t), set("message.timestamp.type", "LogAppendTime"))
	before := time.Now().UnixMilli()
	b.produce(&kgo.Record{Topic: name(t), Value: []byte("v"), Timestamp: time.UnixMilli(5)})
	r := everything(t, b, name(t)).got()[0]
	if frame.TimestampKind(r.kind) != frame.TimestampAppend || r.timestamp < before {
		t.Errorf("time %d of kind %d, want the broker's, %d or later", r.timestamp, r.kind, before)
	}
}

// TestRealTransactions: aborted and committed ones, one inside another, and a
// tail that holds nothing but an aborted one and its marker.
func TestRealTransactions(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(1, topic, nil)
	b.fill(topic, 0, 0, 3)
	b.transaction(topic, 4, false)
	b.transaction(topic, 5, true)
	interleaved(t, b, topic)
	b.fill(topic, 0, 3, 2)
	b.transaction(topic, 6, false)
	h := everything(t, b, topic)
	if n := len(h.got()); n != 3+5+3+2+2 {
		t.Errorf("%d rows, want 15: none of an aborted transaction", n)
	}
}

// interleaved writes two transactions whose records alternate, and plain
// records between: the one is aborted, the other committed.
func interleaved(t *testing.T, b *broker, topic string) {
	t.Helper()
	var p [2]*kgo.Client
	for i := range p {
		var err error
		if p[i], err = kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.TransactionalID(fmt.Sprintf("%s-%d", topic, i))); err != nil {
			t.Fatal(err)
		}
		defer p[i].Close()
		if err := p[i].BeginTransaction(); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 3 {
		for i := range p {
			if err := p[i].ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: fmt.Appendf(nil, "%d of %d", n, i)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.fill(topic, 0, 100, 2)
	for i := range p {
		if err := p[i].EndTransaction(t.Context(), kgo.TransactionEndTry(i == 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealOpenTransaction: nothing behind an open transaction is delivered,
// and all of it once that ends.
func TestRealOpenTransaction(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(1, topic, nil)
	p, err := kgo.NewClient(kgo.SeedBrokers(b.addrs...), kgo.TransactionalID(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	b.fill(topic, 0, 0, 2)
	if err := p.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	b.fill(topic, 0, 2, 2)
	h := newHost(t).open(b.settings("g-"+topic, topic))
	b.untilCommitted("g-"+topic, topic, 0, 2)
	if n := len(h.got()); n != 2 {
		t.Errorf("%d rows before the transaction ended, want the 2 before it", n)
	}
	if err := p.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	h.untilRows(5)
	b.untilCommitted("g-"+topic, topic, 0, 6)
}

// compacted has keys written again and again, and small segments.
func compacted(t *testing.T, b *broker, extra ...string) string {
	t.Helper()
	topic := name(t)
	b.create(1, topic, set(append([]string{"cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.001",
		"segment.ms", "300", "segment.bytes", "1048576", "delete.retention.ms", "0", "min.compaction.lag.ms", "0"}, extra...)...))
	return topic
}

// TestRealCompaction: holes of compaction are inside spans, in mid-log and,
// where all that was at the end was compacted away or deleted, in the tail.
func TestRealCompaction(t *testing.T) {
	b := realBroker(t)
	topic := compacted(t, b)
	for round := range 20 {
		for k := range 10 {
			b.produce(&kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "k%d", k), Value: fmt.Appendf(nil, "round %d", round)})
		}
	}
	b.produce(&kgo.Record{Topic: topic, Key: []byte("middle"), Value: []byte("v")})
	// A tail of records that a tombstone removes, with the tombstones.
	for k := range 10 {
		b.produce(&kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "gone %d", k), Value: []byte("v")})
	}
	for k := range 10 {
		b.produce(&kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "gone %d", k)})
	}
	// Only what is not in the newest segment is compacted, and an append begins
	// a new one once segment.ms has passed.
	b.poll("compaction", func() bool {
		b.produce(&kgo.Record{Topic: topic, Key: []byte("behind"), Value: []byte("v")})
		return len(b.records(topic, 0)) < 40
	})
	b.transaction(topic, 5, false)
	h := everything(t, b, topic)
	if rows, end := len(h.got()), b.end(topic, 0); int64(rows)*2 > end {
		t.Errorf("%d rows in %d positions: nothing was compacted", rows, end)
	}
}

// TestRealDeletedRecords: a position below what was deleted is a gap; the
// stream goes on where there is something.
func TestRealDeletedRecords(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	b.create(1, topic, nil)
	b.fill(topic, 0, 0, 50)
	var at kadm.Offsets
	at.Add(kadm.Offset{Topic: topic, At: 30})
	if _, err := b.admin.DeleteRecords(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	set := b.settings("g-"+topic, topic)
	h, s := manual(t, b, set)
	if err := h.startAt(s, newRun(), 10); err != nil {
		t.Fatal(err)
	}
	wantGap(t, h, 10, 30)
	if err := h.startAt(s, newRun(), 30); err != nil {
		t.Fatal(err)
	}
	if rows := h.untilRows(20); rows[0].position != 30 {
		t.Errorf("the first row is at %d, want 30", rows[0].position)
	}
	// Everything is deleted, and the group is at the end: nothing is wrong.
	var all kadm.Offsets
	all.Add(kadm.Offset{Topic: topic, At: -1})
	if _, err := b.admin.DeleteRecords(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	b.fill(topic, 0, 50, 5)
	h.untilRows(25)
}

func wantGap(t *testing.T, h *host, wanted, available int64) {
	t.Helper()
	h.until("a gap", func() bool { return len(h.gaps) > 0 })
	if g := h.gaps[0]; g.Wanted != wanted || g.Available != available || g.Cause != sdk.GapOutOfRange {
		t.Errorf("gap %+v, want from %d to %d", g, wanted, available)
	}
}

// TestRealRetention: a member that was away for longer than the log is kept.
func TestRealRetention(t *testing.T) {
	b := realBroker(t)
	topic := name(t)
	group := "g-" + topic
	b.create(1, topic, set("retention.ms", "1000", "segment.ms", "300"))
	b.fill(topic, 0, 0, 20)
	h := newHost(t).open(b.settings(group, topic))
	h.untilRows(20)
	b.untilCommitted(group, topic, 0, 20)
	h.close()
	b.fill(topic, 0, 20, 20)
	b.poll("retention", func() bool {
		starts, err := b.admin.ListStartOffsets(context.Background(), topic)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := starts.Lookup(topic, 0)
		return o.Offset == 40
	})
	h = newHost(t).open(b.settings(group, topic))
	wantGap(t, h, 20, 40)
}
