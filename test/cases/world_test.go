package cases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/faults/verify"
	"github.com/twg-io/twg/test/hostproc"
)

// bin holds the product's three programs.
var bin string

func TestMain(m *testing.M) { os.Exit(hostproc.Main(m, &bin, "kafka-source", "parquet")) }

const (
	topic = "orders"
	group = "twg-orders"
)

// world is a broker with one topic of one partition, and an empty directory.
type world struct {
	t      *testing.T
	broker *kfake.Cluster
	client *kgo.Client
	admin  *kadm.Client
	dir    string
}

func newWorld(t *testing.T, config map[string]*string) *world {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "33554432"}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ProducerBatchMaxBytes(16<<20), kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w := &world{t: t, broker: c, client: client, admin: kadm.NewClient(client), dir: filepath.Join(t.TempDir(), "lake")}
	if _, err := w.admin.CreateTopic(t.Context(), 1, 1, config, topic); err != nil {
		t.Fatal(err)
	}
	return w
}

// produce writes the records as one batch, if they are not too many bytes.
func (w *world) produce(rs ...*kgo.Record) {
	w.t.Helper()
	if err := w.client.ProduceSync(w.t.Context(), rs...).FirstErr(); err != nil {
		w.t.Fatal(err)
	}
}

// file writes the pipeline file; more goes into the pipeline block.
func (w *world) file(more string) string {
	w.t.Helper()
	return w.fileWith(more, fmt.Sprintf("group = %q", group), fmt.Sprintf(`sink "parquet" "lake" {
    config { dir = %q }
  }`, w.dir))
}

// fileWith writes a pipeline file with another way to keep the position, and
// another sink.
func (w *world) fileWith(more, position, sink string) string {
	w.t.Helper()
	text := fmt.Sprintf(`pipeline "orders" {
  %s
  source "kafka-source" {
    config {
      brokers = [%q]
      topics  = [%q]
      %s
    }
  }
  %s
}
`, more, w.broker.ListenAddrs()[0], topic, position, sink)
	path := filepath.Join(w.t.TempDir(), "pipeline.hcl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// committed is what the group holds, -1 without a commit.
func (w *world) committed() int64 {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	held, err := w.admin.FetchOffsets(ctx, group)
	if o, ok := held.Lookup(topic, 0); err == nil && ok {
		return o.At
	}
	return -1
}

// check holds every row of the directory against the topic, and the committed
// position against its end.
func (w *world) check(end int64) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	id, records, err := readback.Topic(ctx, w.broker.ListenAddrs(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	rows := verify.NewRows(id, records)
	w.eachFile(func(f readback.File) { rows.Add(f.Name, f.Rows) })
	rows.Finish(nil)
	for _, f := range []verify.Findings{rows.Lost, rows.Duplicated, rows.Extra, rows.Wrong} {
		for _, line := range f.Lines() {
			w.t.Error(line)
		}
	}
	if len(records) == 0 || rows.Count != len(records) {
		w.t.Errorf("%d rows of %d records", rows.Count, len(records))
	}
	if at := w.committed(); at != end {
		w.t.Errorf("committed %d, want %d", at, end)
	}
}

func (w *world) eachFile(do func(readback.File)) {
	w.t.Helper()
	paths, err := filepath.Glob(filepath.Join(w.dir, "*.parquet"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, path := range paths {
		f, err := readback.Parquet(path)
		if err != nil {
			w.t.Fatal(err)
		}
		do(f)
	}
}
