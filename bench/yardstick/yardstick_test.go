package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

const testRecords = 1000

// startTopic is a broker with one topic of two partitions; record i goes to
// partition i%2 with value "v<i>", and i%3 headers.
func startTopic(t *testing.T, codec kgo.CompressionCodec) config {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "t"), kfake.ClusterID("c"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for i := range testRecords {
		r := &kgo.Record{Topic: "t", Partition: int32(i % 2), Value: fmt.Appendf(nil, "v%d", i), Timestamp: time.UnixMilli(int64(i))}
		for h := range i % 3 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: fmt.Sprint("h", h), Value: []byte{byte(h)}})
		}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	return config{brokers: cluster.ListenAddrs(), topic: "t", group: "g", dir: t.TempDir(), records: testRecords, rowsPerFile: 300}
}

func TestYardstickKeepsItsPromise(t *testing.T) {
	for name, codec := range map[string]kgo.CompressionCodec{"plain": kgo.NoCompression(), "zstd": kgo.ZstdCompression()} {
		t.Run(name, func(t *testing.T) {
			c := startTopic(t, codec)
			s, err := run(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if s.Records != testRecords || s.FirstRecordAt.IsZero() || s.AllDurableAt.Before(s.FirstRecordAt) {
				t.Errorf("summary %+v", s)
			}
			checkRows(t, c)
			checkCommitted(t, c)
		})
	}
}

func checkRows(t *testing.T, c config) {
	t.Helper()
	seen := map[[2]int64]bool{}
	for _, path := range parquetFiles(t, c) {
		rows, err := parquet.ReadFile[row](path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			checkRow(t, r)
			seen[[2]int64{int64(r.Partition), r.Position}] = true
		}
		checkSpans(t, path, rows)
	}
	if len(seen) != testRecords {
		t.Errorf("%d of %d records", len(seen), testRecords)
	}
}

func checkRow(t *testing.T, r row) {
	t.Helper()
	i := r.Position*2 + int64(r.Partition)
	if r.Cluster != "c" || r.Topic != "t" || r.TimestampMS != i || string(r.Value) != fmt.Sprint("v", i) || r.Key != nil {
		t.Fatalf("record %d: %+v", i, r)
	}
	if want := newIDMaker("c", "t", r.Incarnation, r.Partition).id(r.Position, r.Value); r.ID != want {
		t.Fatalf("record %d: id %x, want %x", i, r.ID, want)
	}
	if len(r.Headers) != int(i%3) {
		t.Fatalf("record %d: %d headers", i, len(r.Headers))
	}
	for h, x := range r.Headers {
		if string(x.Name) != fmt.Sprint("h", h) || string(x.Value) != string([]byte{byte(h)}) {
			t.Fatalf("record %d: header %d is %+v", i, h, x)
		}
	}
}

// checkSpans compares a footer with the rows of its file.
func checkSpans(t *testing.T, path string, rows []row) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	pf, err := parquet.OpenFile(f, st.Size())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := pf.Lookup("spans")
	var spans []span
	if err := json.Unmarshal([]byte(text), &spans); err != nil {
		t.Fatalf("%s: spans %q: %v", path, text, err)
	}
	var covered int64
	for _, s := range spans {
		covered += s.Next - s.From
	}
	if covered != int64(len(rows)) {
		t.Errorf("%s: spans %+v cover %d positions, the file has %d rows", path, spans, covered, len(rows))
	}
}

func checkCommitted(t *testing.T, c config) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	got, err := kadm.NewClient(client).FetchOffsets(context.Background(), c.group)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		if o, ok := got.Lookup("t", p); !ok || o.At != testRecords/2 {
			t.Errorf("partition %d: committed %+v", p, o)
		}
	}
}

func parquetFiles(t *testing.T, c config) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.parquet"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, ".*.tmp")); left != nil {
		t.Errorf("temporary files are left: %v", left)
	}
	return paths
}

func TestYardstickFailsWithoutItsDirectory(t *testing.T) {
	c := startTopic(t, kgo.NoCompression())
	c.dir = filepath.Join(c.dir, "gone")
	if _, err := run(t.Context(), c); err == nil {
		t.Error("no error")
	}
}
