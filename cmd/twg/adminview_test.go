package main

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/twg-io/twg/host/admin/view"
	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/host/lane"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/host/recovery"
)

// told is a status in which nothing is zero.
func told(now time.Time) pipeline.Status {
	err := errors.New("why")
	return pipeline.Status{
		Records: 1, Bytes: 2, InFlight: 3, Alarms: 4, SourceRestarts: 5, SinkRestarts: 6, SinkOpen: true, SinkError: err,
		Flow: pipeline.Flow{
			Budget: 1, Limit: 2, Used: 3, Granted: 4, Saturation: .5, WarmingUp: true, Expansion: 2, State: flow.Critical, Fraction: .25, Paused: true, Changes: 5,
			Resident: 6, MemoryLimit: 7, Memory: .8, MemoryIgnored: true, Waiting: .3, WriteFailures: 9, WriteError: err, WriteFailing: now,
			Stuck: flow.Suspected, Stalled: time.Minute, SinkIsBottleneck: true,
		},
		Secondaries: []pipeline.SecondaryStatus{{
			Name:     "lake",
			Live:     lane.Status{Open: true, Buffered: 1, Delivered: 2, Sheds: 3, ShedRows: 4, SetAside: 5, GivenUp: 6, Restarts: 7},
			Measured: measured(4),
			Backlog:  recovery.Backlog{Windows: 1, Unclaimed: 2, Positions: 3, Live: 4, Unrecoverable: 5, Rebuilt: 6, SetAside: 7, At: now, Err: err},
		}},
		Observed: pipeline.Observed{SinkSince: now, Batches: 1, Oldest: now, Uncommitted: now, Commits: 2, CommitFailures: 3, CommitError: err, CommitSince: now,
			Measured: measured(1)},
	}
}

// What was told stays as it was, whatever the pipeline says next: it is read
// without a lock.
func TestViewIsACopy(t *testing.T) {
	now := time.Now()
	p := looked{status: told(now), answered: now, since: map[string]time.Time{}, run: &pipelineRun{pipe: new(pipeline.Pipeline), checkedPipeline: &checkedPipeline{
		Pipeline: &config.Pipeline{Name: "p", Role: config.RoleBoth}, source: &checkedPlugin{name: "numbers"}, sinks: []checkedSink{{Sink: &config.Sink{Name: "m"}}},
	}}}
	v := p.view(&config.Secrets{})
	for _, m := range []*pipeline.Measured{&p.status.Observed.Measured, &p.status.Secondaries[0].Measured} {
		m.Latency.Counts[0], m.BatchBytes.Counts[0], m.BatchRecords.Counts[0] = 77, 77, 77
	}
	l := &v.Lanes[0]
	for _, h := range []view.Histogram{v.Sink.Latency, v.Sink.BatchBytes, v.Sink.BatchRecords, l.Latency, l.BatchBytes, l.BatchRecords} {
		if h.Counts[0] == 77 {
			t.Error("a histogram changes while it is read")
		}
	}
}

func measured(sum float64) pipeline.Measured {
	return pipeline.Measured{Latency: histogram(sum), BatchBytes: histogram(sum + 1), BatchRecords: histogram(sum + 2)}
}

func histogram(sum float64) pipeline.Histogram {
	return pipeline.Histogram{Bounds: []float64{1}, Sum: sum}
}

// What a pipeline says of flow control, its gate, its sink and its secondaries
// is told on: a field that nobody fills in would be a metric that is always 0.
func TestViewLeavesNothingOut(t *testing.T) {
	now := time.Now()
	p := looked{status: told(now), answered: now, since: map[string]time.Time{"recovery lake": now}, run: &pipelineRun{pipe: new(pipeline.Pipeline), checkedPipeline: &checkedPipeline{
		Pipeline: &config.Pipeline{Name: "p", Role: config.RoleBoth}, source: &checkedPlugin{name: "numbers"}, sinks: []checkedSink{{Sink: &config.Sink{Name: "m"}}},
	}}}
	v := p.view(&config.Secrets{})
	for _, part := range []any{*v.Flow, v.Gate, v.Sink, v.Lanes[0]} {
		x := reflect.ValueOf(part)
		for i := range x.NumField() {
			name := x.Type().Name() + "." + x.Type().Field(i).Name
			if x.Field(i).IsZero() && name != "Lane.Failed" { // its session is open
				t.Errorf("nobody fills in %s", name)
			}
		}
	}
}
