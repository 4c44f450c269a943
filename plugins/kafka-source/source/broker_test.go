package source

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// broker is a cluster, in-process (or, with Cluster nil, a real one), with a
// client of the test's own.
type broker struct {
	t *testing.T
	*kfake.Cluster
	addrs  []string
	client *kgo.Client
	admin  *kadm.Client
}

func newBroker(t *testing.T, opts ...kfake.Opt) *broker {
	t.Helper()
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.ClusterID("testcluster"), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}, opts...)
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b := connect(t, c.ListenAddrs())
	b.Cluster = c
	return b
}

// connect makes the test's client of the brokers at addrs.
func connect(t *testing.T, addrs []string) *broker {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &broker{t: t, addrs: addrs, client: client, admin: kadm.NewClient(client)}
}

func (b *broker) brokers() []string {
	if b.Cluster != nil {
		return b.ListenAddrs()
	}
	return b.addrs
}

// settings are for the topics, with short times.
func (b *broker) settings(group string, topics ...string) Settings {
	return Settings{
		Brokers: b.brokers(), Topics: topics, Group: group, Start: "earliest", ClientID: "twg-test",
		SessionTimeout: 3 * time.Second, Heartbeat: 100 * time.Millisecond, RebalanceTimeout: 10 * time.Second,
		RevokeTimeout: 5 * time.Second, MetadataMaxAge: 200 * time.Millisecond, StartupTimeout: 5 * time.Second,
		FetchMaxBytes: 4 << 20, PartitionMaxBytes: 1 << 20, FetchMaxWait: 50 * time.Millisecond, MaxBatchBytes: 64 << 20,
	}
}

func (b *broker) create(parts int32, topic string, config map[string]*string) {
	b.t.Helper()
	if _, err := b.admin.CreateTopic(context.Background(), parts, 1, config, topic); err != nil {
		b.t.Fatal(err)
	}
}

// produce writes records one after the other, each its own batch.
func (b *broker) produce(records ...*kgo.Record) {
	b.t.Helper()
	for _, r := range records {
		if err := b.client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fill writes n small records into a partition, in as few batches as the
// client makes of them.
func (b *broker) fill(topic string, part int32, from, n int) {
	b.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = &kgo.Record{Topic: topic, Partition: part, Key: fmt.Appendf(nil, "k%d", from+i), Value: fmt.Appendf(nil, "value %d of partition %d", from+i, part)}
	}
	if err := b.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		b.t.Fatal(err)
	}
}

// produceAnew writes into a topic that was just created again. It uses a
// client that never saw the old one.
func (b *broker) produceAnew(topic string, n int) {
	b.t.Helper()
	p, err := kgo.NewClient(kgo.SeedBrokers(b.brokers()...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		b.t.Fatal(err)
	}
	defer p.Close()
	for i := range n {
		if err := p.ProduceSync(context.Background(), kgo.StringRecord(fmt.Sprintf("new %d", i))).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
}

// transaction writes n records and ends the transaction.
func (b *broker) transaction(topic string, n int, commit bool) {
	b.t.Helper()
	ctx := context.Background()
	p, err := kgo.NewClient(kgo.SeedBrokers(b.brokers()...), kgo.TransactionalID(fmt.Sprintf("tx-%d", newRun())), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		b.t.Fatal(err)
	}
	defer p.Close()
	if err := p.BeginTransaction(); err != nil {
		b.t.Fatal(err)
	}
	for i := range n {
		if err := p.ProduceSync(ctx, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "tx %d", i), Value: fmt.Appendf(nil, "commit=%t %d", commit, i)}).FirstErr(); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := p.EndTransaction(ctx, kgo.TransactionEndTry(commit)); err != nil {
		b.t.Fatal(err)
	}
}

// committed is what the group holds for a partition, and what stands beside.
func (b *broker) committed(group, topic string, part int32) (int64, string) {
	b.t.Helper()
	held, err := b.admin.FetchOffsets(context.Background(), group)
	if err != nil {
		b.t.Fatal(err)
	}
	o, ok := held.Lookup(topic, part)
	if !ok {
		return sdk.NoPosition, ""
	}
	return o.At, o.Metadata
}

// untilCommitted waits until the group holds a position.
func (b *broker) untilCommitted(group, topic string, part int32, want int64) {
	b.t.Helper()
	b.poll(fmt.Sprintf("commit of %s/%d at %d", topic, part, want), func() bool {
		at, _ := b.committed(group, topic, part)
		return at == want
	})
}

// poll asks again until ok, with a deadline.
func (b *broker) poll(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(90 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("no %s after 20 s", what)
		}
	}
}

func rowAt(v frame.View, i int) row {
	r := row{
		stream:    v.Stream(v.StreamIndex(i)),
		position:  v.Position(i),
		timestamp: v.TimestampMS(i),
		kind:      uint8(v.TimestampKind(i)),
		key:       clone(v.Key(i)),
		value:     clone(v.Value(i)),
	}
	r.stream.Topic = strings.Clone(r.stream.Topic)
	from, to := v.Headers(i)
	for h := from; h < to; h++ {
		r.headers = append(r.headers, header{strings.Clone(v.HeaderName(h)), clone(v.HeaderValue(h))})
	}
	return r
}

// clone keeps null and empty apart.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, bytes.Clone(b)...)
}
