package main

import (
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/host/pipeline"
)

// A file that says nothing gives what the package flow has as its defaults, so
// that the two cannot come apart.
func TestFlowDefaults(t *testing.T) {
	c, _ := config.Load("x.hcl", []byte(`pipeline "p" {}`), config.Env{})
	got := flowControl(&c.Pipelines[0].Flow)
	if got.Pressure != flow.DefaultPressure || got.Stuck != flow.DefaultStuck || got.WarmUp != pipeline.DefaultWarmUp || got.RecordSize != 0 {
		t.Errorf("%+v", got)
	}
}

// A stuck pipeline has an exit code of its own.
func TestStuckExitCode(t *testing.T) {
	r := &run{secrets: &config.Secrets{}}
	p := &pipelineRun{checkedPipeline: &checkedPipeline{Pipeline: &config.Pipeline{Name: "p"}}, startup: newStartup(0, func() {})}
	for err, want := range map[error]int{fmt.Errorf("%w: memory is at 95 %%", pipeline.ErrStuck): 4, os.ErrClosed: 1, nil: 0} {
		p.err = err
		if got := codeOf(r.explain(p)); got != want {
			t.Errorf("%v: exit code %d, want %d", err, got, want)
		}
	}
}

// What pipelines are told of memory is this process's, and memory_limit bounds
// it.
func TestMemoryReader(t *testing.T) {
	const limit = 1 << 20 // below what any machine gives
	resident, got := memoryReader(fakeLauncher{}, limit, slog.New(slog.DiscardHandler))()
	if got != limit || resident < limit {
		t.Errorf("resident %d, limit %d", resident, got)
	}
}

func TestFlowText(t *testing.T) {
	for want, f := range map[string]pipeline.Flow{
		"":                                     {},
		"critical, the sink is the bottleneck": {State: flow.Critical, SinkIsBottleneck: true},
		"degraded, 3 writes failed in a row":   {State: flow.Degraded, WriteFailures: 3},
		"critical, source paused":              {State: flow.Critical, Paused: true},
		"stuck for 5m0s":                       {Stuck: flow.Suspected, Stalled: 300e9},
	} {
		if got := flowText(f); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
}
