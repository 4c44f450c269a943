package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/twg-io/twg/test/faults/control"
	"github.com/twg-io/twg/test/faults/verify"
)

// The harness starts itself as the broker; here that is the test's binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "broker" {
		if err := brokerMain(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// logFile puts a file with one row a position into the log.
func logFile(t *testing.T, dir string, n int, positions ...int64) {
	t.Helper()
	type row struct {
		Partition int32 `parquet:"partition"`
		Position  int64 `parquet:"position"`
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.tmp", n)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var opts []parquet.WriterOption
	for k, v := range map[string]string{"kind": "data", "streams": "[]", "spans": "[]", "voids": "[]"} {
		opts = append(opts, parquet.KeyValueMetadata("twg."+k, v))
	}
	w := parquet.NewGenericWriter[row](f, opts...)
	for _, p := range positions {
		if _, err := w.Write([]row{{0, p}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, fmt.Sprintf("%d.parquet", n))); err != nil {
		t.Fatal(err)
	}
}

// watched is a broker and a watcher over an empty log.
func watched(t *testing.T) (*watcher, *kadm.Client, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	dir := t.TempDir()
	w := newWatcher(groupName, dir)
	self := []control.Process{{Role: "twg-plugin-kafka-source", PID: os.Getpid()}}
	r := &run{dir: t.TempDir(), watch: w, starts: newStarts(func() []control.Process { return self })}
	b, err := r.startBroker(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	if err := w.connect(b.addr()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.kcl.Close)
	c, err := kgo.NewClient(kgo.SeedBrokers(b.addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return w, kadm.NewClient(c), ctx
}

func commit(t *testing.T, ctx context.Context, adm *kadm.Client, next int64) {
	t.Helper()
	var o kadm.Offsets
	o.AddOffset(topicName, 0, next, -1)
	if err := adm.CommitAllOffsets(ctx, groupName, o); err != nil {
		t.Fatal(err)
	}
}

// A commit that is a moment too early is seen by the broker even if no sample
// falls between, and one that is in time is not.
func TestLeadBetweenTwoSamplesIsSeen(t *testing.T) {
	w, adm, ctx := watched(t)
	logFile(t, w.dir, 1, 0, 1)
	commit(t, ctx, adm, 2)
	commit(t, ctx, adm, 4) // ahead of file 2
	logFile(t, w.dir, 2, 2, 3, 4)
	commit(t, ctx, adm, 5)
	w.sample(ctx)
	if err := w.waitReached(ctx, map[int32]int64{0: 5}); err != nil {
		t.Fatal(err)
	}
	real := []verify.Place{{Position: 0}, {Position: 1}, {Position: 2}, {Position: 3}, {Position: 4}}
	if led := w.led(real); led.Count != 2 || w.moments() != 4 { // three requests, one sample
		t.Errorf("%d led %v of %d moments, want positions 2 and 3 of 4", led.Count, led.First, w.moments())
	}
}

// A source that begins to read beyond what is held leads, one that goes on
// reading does not.
func TestStartThatLeadsIsSeen(t *testing.T) {
	w, adm, ctx := watched(t)
	logFile(t, w.dir, 1, 0, 1)
	w.readNewFiles()
	broker, err := adm.Metadata(ctx)
	if err != nil {
		t.Fatal(err)
	}
	source, err := kgo.NewClient(kgo.SeedBrokers(broker.Brokers[0].Host+":"+fmt.Sprint(broker.Brokers[0].Port)), kgo.ClientID(sourceClient))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	fetch := func(at int64) {
		t.Helper()
		p := kmsg.NewFetchRequestTopicPartition()
		p.FetchOffset = at
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID, topic.Partitions = topicName, broker.Topics[topicName].ID, []kmsg.FetchRequestTopicPartition{p}
		r := kmsg.NewPtrFetchRequest()
		r.Topics = append(r.Topics, topic)
		if _, err := source.Broker(0).Request(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	real := []verify.Place{{Position: 0}, {Position: 1}, {Position: 2}, {Position: 3}, {Position: 4}}
	for _, at := range []int64{1, 5, 2} { // it begins at 1, goes on to 5, begins again at 2
		fetch(at)
	}
	if led := w.led(real); led.Count != 0 || w.moments() != 2 {
		t.Errorf("%d led %v of %d starts, want none of 2", led.Count, led.First, w.moments())
	}
	fetch(7)
	fetch(4)
	if led := w.led(real); led.Count != 2 {
		t.Errorf("%d led %v, want positions 2 and 3", led.Count, led.First)
	}
}

func TestSampleSeesLeadRewindAndDoubles(t *testing.T) {
	w, adm, ctx := watched(t)
	real := []verify.Place{{Position: 0}, {Position: 1}}
	logFile(t, w.dir, 1, 0)
	commit(t, ctx, adm, 1)
	w.sample(ctx)
	if led := w.led(real); led.Count != 0 || w.rewound.Count != 0 || w.doubled() != 0 {
		t.Fatalf("found %v %v, %d twice, where all is well", led, w.rewound, w.doubled())
	}
	commit(t, ctx, adm, 2)
	w.sample(ctx)
	logFile(t, w.dir, 2, 0, 1)
	commit(t, ctx, adm, 1)
	w.sample(ctx)
	if led := w.led(real); led.Count != 1 || w.rewound.Count != 1 || w.doubled() != 1 {
		t.Errorf("found %v %v, %d twice; want one of each", led, w.rewound, w.doubled())
	}
}

func TestUnreadableVisibleFileIsAFinding(t *testing.T) {
	w, _, ctx := watched(t)
	if err := os.WriteFile(filepath.Join(w.dir, "1.parquet"), []byte("PAR1"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.sample(ctx)
	if w.incomplete.Count != 1 {
		t.Errorf("%d incomplete files, want 1", w.incomplete.Count)
	}
}
