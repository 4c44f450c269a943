package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/sdk"
)

// prepare starts a pipeline's plugins and makes the pipeline of them. It does
// not run yet. giveUp stops everything.
func (r *run) prepare(ctx context.Context, l launcher, p *checkedPipeline, giveUp context.CancelFunc) (*pipelineRun, error) {
	source, err := l.source(ctx, p.source)
	if err != nil {
		return nil, cannotRun(p, p.source, err)
	}
	sink, err := l.sink(ctx, p.sinks[0])
	if err != nil {
		return nil, cannotRun(p, p.sinks[0], err)
	}
	start := newStartup(r.ConnectTimeout, giveUp)
	cfg := pipelineConfig(p)
	cfg.Limits.ConnectWithin = r.ConnectTimeout
	cfg.Source, cfg.Sink, cfg.Logger, cfg.UntilCaughtUp = start.watchSource(source), sink, r.log, r.UntilCaughtUp
	return &pipelineRun{checkedPipeline: p, pipe: pipeline.New(cfg), startup: start}, nil
}

func cannotRun(p *checkedPipeline, plugin *checkedPlugin, err error) error {
	return &exitError{exitEnvironment, fmt.Errorf("start plugin %s of pipeline %q: %w", plugin.description.Name, p.Name, err)}
}

// pipelineConfig is what the file says about a pipeline.
func pipelineConfig(p *checkedPipeline) pipeline.Config {
	limits := sdk.DefaultLimits
	limits.MaxRecordBytes = int(p.MaxRecordBytes)
	onGap := pipeline.GapFail
	if p.OnGap == config.OnGapContinue {
		onGap = pipeline.GapContinue
	}
	onDivergence := pipeline.DivergenceFail
	if p.OnDivergence == config.OnDivergenceNewIncarnation {
		onDivergence = pipeline.DivergenceNewIncarnation
	}
	return pipeline.Config{
		Name: p.Name, Owner: owner(),
		SourceCaps: p.source.caps, SinkCaps: p.sinks[0].caps,
		Granularity: p.Granularity, TopicGranularity: p.Topics,
		MemoryBudget: p.MemoryBudget, MaxAckDelay: p.MaxAckDelay, ShutdownTimeout: p.ShutdownTimeout,
		Limits: limits, OnGap: onGap, OnDivergence: onDivergence,
	}
}

// owner names this host to people who look at a fence.
func owner() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown-host"
	}
	return fmt.Sprintf("%s process %d", name, os.Getpid())
}
