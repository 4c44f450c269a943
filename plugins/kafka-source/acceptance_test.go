package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/internal/devkafka"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/plugintest"
)

// TestAcceptance runs the program against the suite, with a broker in the
// test's process.
func TestAcceptance(t *testing.T) {
	plugintest.Source(t, plugintest.SourceConfig{
		Binary: build(t), Service: newService, Shares: true,
		Invalid: []string{
			`{}`,
			`{"brokers":["127.0.0.1"],"topics":["t"],"group":"g"}`,
			`{"brokers":["127.0.0.1:9092"],"topics":[],"group":"g"}`,
			`{"brokers":["127.0.0.1:9092"],"topics":["t"],"group":"g","start":"sometime"}`,
		},
	})
}

// TestAcceptanceOfNamedPartitions: the same without a group.
func TestAcceptanceOfNamedPartitions(t *testing.T) {
	const named = `{"brokers":[%q],"topics":["t"],"partitions":["all"],"fetch_max_wait":"50ms"}`
	plugintest.Source(t, plugintest.SourceConfig{
		Binary: build(t),
		Service: func(t testing.TB) plugintest.Service {
			s := newService(t)
			var in struct{ Brokers []string }
			if err := json.Unmarshal([]byte(s.Settings), &in); err != nil {
				t.Fatal(err)
			}
			s.Settings, s.Unreachable, s.Committed = fmt.Sprintf(named, in.Brokers[0]), fmt.Sprintf(named, "127.0.0.1:1"), nil
			return s
		},
		Invalid: []string{
			`{"brokers":["127.0.0.1:9092"],"topics":["t"],"group":"g","partitions":["0"]}`,
			`{"brokers":["127.0.0.1:9092"],"topics":["t"],"partitions":["3-1"]}`,
			`{"brokers":["127.0.0.1:9092"],"topics":["t"],"partitions":["all"],"start":"latest"}`,
		},
	})
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "twg-plugin-kafka-source")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// settings are those of a member that may be silent for longer than an orphan
// may live: streams change hands before that only if it leaves.
const settings = `{"brokers":[%q],"topics":["t"],"group":"g","session_timeout":"13s","heartbeat_interval":"200ms","fetch_max_wait":"50ms","revoke_timeout":"10s"}`

// newService is a broker with a topic of two partitions.
func newService(t testing.TB) plugintest.Service {
	b, err := devkafka.Start(context.Background(), devkafka.Options{Listen: "127.0.0.1:0", Topics: []devkafka.Topic{{Name: "t", Partitions: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(32<<20))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return plugintest.Service{
		Settings:    fmt.Sprintf(settings, b.Addr),
		Unreachable: fmt.Sprintf(settings, "127.0.0.1:1"),
		Produce: func(s sdk.Stream, recs ...frame.Record) error {
			return client.ProduceSync(context.Background(), records(s, recs)...).FirstErr()
		},
		Committed: func(s sdk.Stream) (int64, error) { return committed(client, s) },
	}
}

func records(s sdk.Stream, recs []frame.Record) []*kgo.Record {
	list := make([]*kgo.Record, len(recs))
	for i, r := range recs {
		list[i] = &kgo.Record{Topic: s.Topic, Partition: s.Partition, Key: r.Key, Value: r.Value, Timestamp: time.UnixMilli(r.TimestampMS)}
		for _, h := range r.Headers {
			list[i].Headers = append(list[i].Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
	}
	return list
}

func committed(client *kgo.Client, s sdk.Stream) (int64, error) {
	held, err := kadm.NewClient(client).FetchOffsets(context.Background(), "g")
	if err != nil {
		return 0, err
	}
	if o, ok := held.Lookup(s.Topic, s.Partition); ok {
		return o.At, nil
	}
	return sdk.NoPosition, nil
}
