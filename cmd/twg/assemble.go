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
	start := newStartup(r.ConnectTimeout, giveUp)
	cfg, err := assemble(ctx, l, p, start)
	if err != nil {
		return nil, err
	}
	cfg.Limits.ConnectWithin = r.ConnectTimeout
	if p.Role == config.RoleRecovery {
		if err := r.reach(ctx, p, cfg.Sink); err != nil {
			return nil, err
		}
	}
	cfg.Logger, cfg.UntilCaughtUp = r.log, r.UntilCaughtUp
	cfg.FlowControl.Memory = r.memory
	cfg.FlowControl.Hung = func(err error) { endHung(r.app.stderr, r.about(&pipelineRun{checkedPipeline: p}, err)) }
	return &pipelineRun{checkedPipeline: p, pipe: pipeline.New(cfg), startup: start, processes: processesOf(p, &cfg)}, nil
}

// reach asks the store of a host that only recovers, which opens no session by
// whose failure a wrong address would show.
func (r *run) reach(ctx context.Context, p *checkedPipeline, sink sdk.Sink) error {
	store, ok := sink.(sdk.RecoveryStore)
	if !ok || r.ConnectTimeout <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.ConnectTimeout)
	defer cancel()
	if _, err := store.Streams(ctx); err != nil {
		return &exitError{exitEnvironment, r.about(&pipelineRun{checkedPipeline: p}, fmt.Errorf("the store of sink %q was not reached at the start: %w", p.gate().Name, err))}
	}
	return nil
}

// assemble starts the plugins that a pipeline's role needs.
func assemble(ctx context.Context, l launcher, p *checkedPipeline, start *startup) (pipeline.Config, error) {
	cfg := pipelineConfig(p)
	if p.source != nil {
		source, err := l.source(ctx, p.source)
		if err != nil {
			return cfg, cannotRun(p, p.source, err)
		}
		cfg.Source, cfg.SourceCaps = start.watchSource(source), p.source.caps
	}
	gate := p.gate().plugin
	var err error
	if cfg.Sink, err = l.sink(ctx, gate); err != nil {
		return cfg, cannotRun(p, gate, err)
	}
	for _, s := range p.secondaries() {
		lane, err := secondary(ctx, l, p.Role, s)
		if err != nil {
			return cfg, cannotRun(p, s.plugin, err)
		}
		cfg.Secondaries = append(cfg.Secondaries, lane)
	}
	return cfg, nil
}

// secondary starts a secondary's plugin for each half of the work that this
// host does: what is new and what is rebuilt have a process each, so that
// neither waits for the other, or falls with it.
func secondary(ctx context.Context, l launcher, role config.Role, s checkedSink) (pipeline.Secondary, error) {
	out := pipeline.Secondary{Name: s.Name, Caps: s.plugin.caps, Buffer: s.Buffer, Attempts: s.Attempts}
	var err error
	if role != config.RoleRecovery {
		if out.Sink, err = l.sink(ctx, s.plugin); err != nil {
			return out, err
		}
	}
	if role != config.RoleIngest {
		out.Recovery, err = l.sink(ctx, s.plugin)
	}
	return out, err
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
	r := p.Recovery
	onDivergence := pipeline.DivergenceFail
	if p.OnDivergence == config.OnDivergenceNewIncarnation {
		onDivergence = pipeline.DivergenceNewIncarnation
	}
	return pipeline.Config{
		Name: p.Name, Owner: owner(), Role: pipelineRole(p.Role),
		SinkCaps:    p.gate().plugin.caps,
		Granularity: p.Granularity, TopicGranularity: p.Topics,
		MemoryBudget: p.MemoryBudget, MaxAckDelay: p.MaxAckDelay, ShutdownTimeout: p.ShutdownTimeout,
		Limits: limits, OnGap: onGap, OnDivergence: onDivergence, FlowControl: flowControl(&p.Flow),
		Recovery: pipeline.Recovery{
			WindowRows: r.WindowRows, WindowDuration: r.WindowDuration, LeaseTTL: r.LeaseTTL, Budget: r.Budget, Interval: r.Interval,
		},
	}
}

func pipelineRole(r config.Role) pipeline.Role {
	switch r {
	case config.RoleIngest:
		return pipeline.RoleIngest
	case config.RoleRecovery:
		return pipeline.RoleRecovery
	}
	return pipeline.RoleBoth
}

// owner names this host to people who look at a fence.
func owner() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown-host"
	}
	return fmt.Sprintf("%s process %d", name, os.Getpid())
}
