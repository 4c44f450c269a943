//go:build services

package source

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/services/kafka"
)

// shared is the real broker of the tests that do not stop it. A broker takes
// seconds to start: topics and groups keep the tests apart.
var shared = sync.OnceValues(func() (*kafka.Cluster, error) {
	c, err := kafka.Start(context.Background(), kafka.Config{})
	if err == nil {
		atEnd = append(atEnd, func() { _ = c.Close() })
	}
	return c, err
})

func realBroker(t *testing.T) *broker {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, c.Addrs())
}

// ownBrokers starts brokers that the test may stop.
func ownBrokers(t *testing.T, n int) (*kafka.Cluster, *broker) {
	t.Helper()
	c, err := kafka.Start(t.Context(), kafka.Config{Brokers: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, connect(t, c.Addrs())
}

// name is the test's topic and group.
func name(t *testing.T) string {
	return strings.NewReplacer("/", ".", " ", "_", ",", "").Replace(t.Name())
}

// set makes a topic's configuration from pairs.
func set(pairs ...string) map[string]*string {
	m := make(map[string]*string)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = kadm.StringPtr(pairs[i+1])
	}
	return m
}

// end is where a partition ends, once no transaction is open: its markers are
// written after the producer was told that it has ended.
func (b *broker) end(topic string, part int32) (at int64) {
	b.t.Helper()
	b.poll("end of all transactions", func() bool {
		stable, err := b.admin.ListCommittedOffsets(context.Background(), topic)
		if err != nil {
			b.t.Fatal(err)
		}
		last, err := b.admin.ListEndOffsets(context.Background(), topic)
		if err != nil {
			b.t.Fatal(err)
		}
		s, _ := stable.Lookup(topic, part)
		l, _ := last.Lookup(topic, part)
		at = l.Offset
		return s.Offset == l.Offset && s.Err == nil && l.Err == nil
	})
	return at
}

// records reads a partition as the driver's own consumer sees it, up to the
// last stable offset: what a source has to deliver.
func (b *broker) records(topic string, part int32) (out []*kgo.Record) {
	b.t.Helper()
	end := b.end(topic, part)
	// A record behind everything else shows that all was read; it is not
	// returned. Positions without records tell nothing to a consumer.
	fence := &kgo.Record{Topic: topic, Partition: part, Key: []byte("the end"), Value: []byte("the end")}
	b.produce(fence)
	c, err := kgo.NewClient(kgo.SeedBrokers(b.brokers()...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {part: kgo.NewOffset().AtStart()}}))
	if err != nil {
		b.t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 120*time.Second)
	defer cancel()
	for {
		fetches := c.PollFetches(ctx)
		if ctx.Err() != nil {
			b.t.Fatalf("read %s/%d: the end did not come in 30 s", topic, part)
		}
		for _, r := range fetches.Records() {
			if r.Offset >= end {
				return out
			}
			out = append(out, r)
		}
	}
}

// same compares what a host got of a partition with what stands there.
func same(t *testing.T, got []row, want []*kgo.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i].position != want[i].Offset || got[i].timestamp != want[i].Timestamp.UnixMilli() {
			t.Fatalf("row %d is at %d with time %d, want %d with %d", i, got[i].position, got[i].timestamp, want[i].Offset, want[i].Timestamp.UnixMilli())
		}
		checkRecord(t, i, got[i], want[i])
	}
}

// everything reads a topic of one partition to its end, and checks rows and
// the committed position.
func everything(t *testing.T, b *broker, topic string) *host {
	t.Helper()
	end := b.end(topic, 0)
	h := newHost(t).open(b.settings("g-"+topic, topic))
	h.untilAt(topic, 0, end)
	b.untilCommitted("g-"+topic, topic, 0, end)
	rows := h.got()
	h.close()
	same(t, rows, b.records(topic, 0))
	if len(rows) == 0 {
		t.Errorf("no row in %d positions", end)
	}
	return h
}
