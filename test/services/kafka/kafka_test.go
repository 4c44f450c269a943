//go:build services

package kafka

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func client(t *testing.T, c *Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.Addrs()...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func createTopic(t *testing.T, cl *kgo.Client, partitions int32, replicas int16, topic string) {
	t.Helper()
	_, err := kadm.NewClient(cl).CreateTopic(t.Context(), partitions, replicas, nil, topic)
	must(t, err)
}

func produce(t *testing.T, cl *kgo.Client, topic, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	must(t, cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr())
}

// values reads n records of partition 0 from its beginning.
func values(t *testing.T, c *Cluster, topic string, n int) (out []string) {
	t.Helper()
	cl := client(t, c, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for len(out) < n {
		fetches := cl.PollFetches(ctx)
		must(t, ctx.Err())
		fetches.EachRecord(func(r *kgo.Record) { out = append(out, string(r.Value)) })
	}
	return out
}

func TestABrokerKeepsDataAndPortOverKillAndStop(t *testing.T) {
	c := start(t, Config{})
	addr := c.Node(0).Addr()
	cl := client(t, c)
	createTopic(t, cl, 1, 1, "t")
	produce(t, cl, "t", "before")
	begun := time.Now()
	c.Node(0).Kill()
	must(t, c.Node(0).Start(t.Context()))
	t.Logf("killed and back after %s", time.Since(begun))
	produce(t, cl, "t", "after a kill")
	begun = time.Now()
	must(t, c.Node(0).Stop(t.Context()))
	must(t, c.Node(0).Start(t.Context()))
	t.Logf("stopped and back after %s", time.Since(begun))
	produce(t, cl, "t", "after a stop")
	got := values(t, c, "t", 3)
	want := []string{"before", "after a kill", "after a stop"}
	for i, w := range want {
		if got[i] != w {
			t.Errorf("record %d is %q, want %q", i, got[i], w)
		}
	}
	if c.Node(0).Addr() != addr {
		t.Errorf("address %s, before it was %s", c.Node(0).Addr(), addr)
	}
}

func TestAnotherBrokerTakesOver(t *testing.T) {
	c := start(t, Config{Brokers: 2})
	cl := client(t, c)
	createTopic(t, cl, 2, 2, "t")
	c.Node(1).Kill()
	for p := range int32(2) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		pinned := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()))
		must(t, pinned.ProduceSync(ctx, &kgo.Record{Topic: "t", Partition: p, Value: []byte("x")}).FirstErr())
		cancel()
	}
}
