package plugintest

import (
	"fmt"
	"testing"

	"github.com/twg-io/twg/host/plugins"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// sinkRig is the host of one case's sink.
type sinkRig struct {
	*bench
	cfg    SinkConfig
	target Target
	proc   *plugins.Process
	caps   sdk.Capabilities
	sink   sdk.Sink
	epochs map[sdk.Stream]sdk.Epoch
	lastID uint64
}

func runSink(t testing.TB, cfg SinkConfig, c testCase[*sinkRig]) error {
	r := &sinkRig{bench: newBench(t, cfg.Binary), cfg: cfg, target: cfg.Target(t), epochs: map[sdk.Stream]sdk.Epoch{}}
	defer r.end() // before t takes away what the processes write to
	return attempt(func() { c.run(r) })
}

// sinkCapabilities are those with a target's settings. They choose the cases.
func sinkCapabilities(t testing.TB, cfg SinkConfig) (caps sdk.Capabilities) {
	b := newBench(t, cfg.Binary)
	if err := attempt(func() { _, caps = b.configured(cfg.Target(t).Settings, 0) }); err != nil {
		t.Fatal(err)
	}
	b.end()
	return caps
}

// start takes a fresh process.
func (r *sinkRig) start() {
	r.proc, r.caps = r.configured(r.target.Settings, 0)
	r.sink = r.proc.Sink(r.caps)
}

// restart kills the process as kill -9 does, and takes a fresh one.
func (r *sinkRig) restart() {
	r.proc.Kill()
	r.start()
}

// epoch is the stream's fence; the zero Epoch for a sink without.
func (r *sinkRig) epoch(s sdk.Stream) sdk.Epoch {
	if _, ok := r.epochs[s]; !ok && r.caps.Fencing {
		r.epochs[s] = r.acquire("plugintest", s)[0].Epoch
	}
	return r.epochs[s]
}

func (r *sinkRig) store() sdk.OffsetStore {
	store, ok := r.sink.(sdk.OffsetStore)
	if !ok {
		failf("the sink declares %s but no offset_store, which issues epochs", "fencing")
	}
	return store
}

func (r *sinkRig) acquire(owner string, streams ...sdk.Stream) []sdk.Acquired {
	ctx, cancel := soon()
	defer cancel()
	got, err := r.store().Acquire(ctx, owner, streams)
	must(err, "acquire epochs")
	if len(got) != len(streams) {
		failf("acquire epochs of %d streams: %d were issued", len(streams), len(got))
	}
	for i, a := range got {
		if a.Stream != streams[i] || a.Epoch.IsZero() {
			failf("acquire epochs: entry %d is %+v, want one of %s", i, a, streams[i])
		}
	}
	return got
}

// batch makes a batch of one stream under its epoch.
func (r *sinkRig) batch(s sdk.Stream, from, next int64, recs []frame.Record) *sdk.Batch {
	return batchOf(part{s, r.epoch(s), from, next, recs})
}

func (r *sinkRig) full(s sdk.Stream, from, next int64) *sdk.Batch {
	return r.batch(s, from, next, plain(from, next))
}

// both makes a batch of two streams.
func (r *sinkRig) both(from, next int64) *sdk.Batch {
	return batchOf(part{streamA, r.epoch(streamA), from, next, plain(from, next)}, part{streamB, r.epoch(streamB), from, next, plain(from, next)})
}

// holds compares the target with what was delivered. repeats: a row may be
// there more than once, if the sink says that it appends.
func (r *sinkRig) holds(repeats bool, delivered ...*sdk.Batch) {
	want := map[string]Row{}
	for _, b := range delivered {
		for _, row := range rowsOf(b) {
			want[row.name()] = row
		}
	}
	got, err := r.target.ReadBack()
	must(err, "read the target back")
	seen := map[string]bool{}
	for _, g := range got {
		w, ok := want[g.name()]
		if !ok {
			failf("the target has a row for %s, which was not delivered", g.name())
		}
		if d := differ(g.Record, w.Record); d != "" {
			failf("the row for %s: %s", g.name(), d)
		}
		if seen[g.name()] && !(repeats && r.caps.AppendOnly) {
			failf("the target has two rows for %s", g.name())
		}
		seen[g.name()] = true
	}
	for name := range want {
		if !seen[name] {
			failf("no row for %s, whose batch was answered as durable", name)
		}
	}
}

func (row Row) name() string {
	return fmt.Sprintf("%s/%d@%d", row.Topic, row.Partition, row.Position)
}
