//go:build services

package rebalance

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/plugins/kafka-source/source"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/test/services/kafka"
)

const (
	topic      = "t"
	partitions = 4
	each       = 2000 // records a partition
	// slow is longer than the session, revoke and rebalance timeouts below: what
	// a minute is to a group with the usual ones.
	slow = 6 * time.Second
)

// TestNewMemberBesideASlowSink: a pipeline whose sink takes longer over a batch
// than all the group's timeouts shares its partitions with a new one. It stays
// in the group, nobody waits for it, its late receipts commit nothing of what it
// gave up, and nothing is lost.
func TestNewMemberBesideASlowSink(t *testing.T) {
	broker, err := kafka.Start(t.Context(), kafka.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	for _, protocol := range []string{"classic", "consumer", "eager"} {
		t.Run(protocol, func(t *testing.T) { besideSlow(t, broker.Addrs(), protocol) })
	}
}

func besideSlow(t *testing.T, brokers []string, protocol string) {
	topic := topic + "-" + protocol
	adm := fill(t, brokers, topic)
	held := &rows{times: map[place]int{}}
	quick := make(chan struct{})
	one := &slowSink{rows: held, slow: slow, quick: quick, begun: make(chan struct{}, 1)}
	two := &slowSink{rows: held, begun: make(chan struct{}, 1)}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer running.Wait()
	defer stop()
	start := func(name string, sink *slowSink) *pipeline.Pipeline {
		p := newPipeline(t, name, brokers, topic, protocol, sink)
		running.Go(func() {
			if err := p.Run(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		return p
	}
	slowOne := start("slow", one)
	within(t, one.begun, 20*time.Second, "the slow sink got no batch")
	start("new", two)
	within(t, two.begun, 10*time.Second, "the new member waited for the slow one")

	ends := map[int32]int64{}
	for p := range int32(partitions) {
		ends[p] = each
	}
	deadline := time.Now().Add(90 * time.Second)
	// Long enough for a batch that began after the new member was there; the rest
	// need not be slow.
	defer time.AfterFunc(2*slow, func() { close(quick) }).Stop()
	for missing := held.missing(ends); len(missing) > 0 || !committed(t, adm, topic, ends); missing = held.missing(ends) {
		if time.Now().After(deadline) {
			t.Fatalf("%d records are nowhere, %v first; committed to the end: %t", len(missing), missing[:min(1, len(missing))], committed(t, adm, topic, ends))
		}
		if s := slowOne.Status(); s.SourceRestarts > 0 {
			t.Fatalf("the slow pipeline's source was opened again")
		}
		neverLed(t, adm, topic, held)
		time.Sleep(20 * time.Millisecond)
	}
}

// neverLed checks that nothing is committed that is not held: the offsets are
// read first.
func neverLed(t *testing.T, adm *kadm.Client, topic string, held *rows) {
	t.Helper()
	below := map[int32]int64{}
	offsets(t, adm, topic).Each(func(o kadm.OffsetResponse) { below[o.Partition] = o.At })
	if led := held.missing(below); len(led) > 0 {
		t.Fatalf("%d records are committed and held nowhere: %v first", len(led), led[0])
	}
}

func committed(t *testing.T, adm *kadm.Client, topic string, want map[int32]int64) bool {
	held := offsets(t, adm, topic)
	for p, end := range want {
		if o, ok := held.Lookup(topic, p); !ok || o.At < end {
			return false
		}
	}
	return true
}

func offsets(t *testing.T, adm *kadm.Client, topic string) kadm.OffsetResponses {
	t.Helper()
	held, err := adm.FetchOffsets(t.Context(), "g-"+topic)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func within(t *testing.T, what <-chan struct{}, d time.Duration, or string) {
	t.Helper()
	select {
	case <-what:
	case <-time.After(d):
		t.Fatalf("%s within %s", or, d)
	}
}

// fill makes a topic and writes its records.
func fill(t *testing.T, brokers []string, topic string) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	adm := kadm.NewClient(client)
	if _, err := adm.CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
	var rs []*kgo.Record
	for i := range each * partitions {
		rs = append(rs, &kgo.Record{Topic: topic, Partition: int32(i % partitions), Value: fmt.Appendf(nil, "%d", i)})
	}
	if err := client.ProduceSync(t.Context(), rs...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return adm
}

func newPipeline(t *testing.T, name string, brokers []string, topic, protocol string, sink *slowSink) *pipeline.Pipeline {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil)).With("pipeline", name)
	src := source.New(log)
	set := map[string]any{
		"brokers": brokers, "topics": []string{topic}, "group": "g-" + topic, "group_protocol": protocol,
		"session_timeout": "1s", "heartbeat_interval": "200ms", "rebalance_timeout": "3s", "revoke_timeout": "1500ms", "fetch_max_wait": "50ms",
	}
	if protocol == "eager" {
		set["group_protocol"], set["balancers"] = "classic", []string{"range"}
	}
	settings, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	caps, diags := src.Configure(sdk.NewSettings(settings))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return pipeline.New(pipeline.Config{
		Name: name, Source: src, SourceCaps: caps, Sink: sdk.Sync(sink, sink.write), SinkCaps: sdk.Capabilities{Durable: true},
		MemoryBudget: 1 << 20, ShutdownTimeout: 20 * time.Second, Logger: log,
		// Small frames: the slow sink has several before it.
		Limits: sdk.Limits{FrameRecords: 1000, FrameBytes: 1 << 20, MaxRecordBytes: 1 << 20},
	})
}
