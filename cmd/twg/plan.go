package main

import (
	"context"
	"errors"

	"github.com/twg-io/twg/sdk"
)

type planCmd struct {
	JSON bool   `help:"Print the plan as JSON."`
	File string `arg:"" help:"Pipeline file; - reads standard input."`
}

func (c *planCmd) Run(ctx context.Context, a *app) error {
	f, err := a.checkFile(ctx, c.File)
	if err != nil {
		return err
	}
	if err := f.report(a); err != nil {
		return err
	}
	plan, err := makePlan(f)
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(a, plan)
	}
	return errors.Join(plan.write(a.stdout))
}

// plan is what a file guarantees, for people and programs.
type plan struct {
	File      string         `json:"file"`
	Pipelines []pipelinePlan `json:"pipelines"`
	// CeilingBytes is the sum over the pipelines, with HostConstant once.
	CeilingBytes int64 `json:"memory_ceiling_bytes"`
}

type pipelinePlan struct {
	Name        string            `json:"name"`
	Role        string            `json:"role"`
	Gate        string            `json:"gate"`
	Granularity string            `json:"granularity"`
	Topics      map[string]string `json:"topics,omitempty"`
	OnGap       string            `json:"on_gap"`
	OnDiverge   string            `json:"on_divergence"`
	MaxAckDelay string            `json:"max_ack_delay"`
	Source      pluginPlan        `json:"source"`
	Sink        pluginPlan        `json:"sink"`
	Memory      memoryPlan        `json:"memory"`
	Costs       []cost            `json:"costs"`
	OptOuts     []string          `json:"opt_outs"`
}

type pluginPlan struct {
	Plugin  string `json:"plugin"`
	Name    string `json:"name,omitempty"`
	Version string `json:"version"`
	File    string `json:"file"`
	SHA256  string `json:"sha256"`
	// Position and Origin are a source's.
	Position string `json:"position,omitempty"`
	Origin   string `json:"origin,omitempty"`
	// The rest is a sink's.
	Role         string   `json:"role,omitempty"`
	Targets      []string `json:"targets,omitempty"`
	Capabilities []string `json:"capabilities,omitempty"`
}

// memoryPlan bounds what the host holds of one pipeline (INV5). Plugins have
// memory of their own, by their own settings.
type memoryPlan struct {
	BudgetBytes   int64 `json:"budget_bytes"`
	FrameBytes    int64 `json:"frame_bytes"`
	ConstantBytes int64 `json:"constant_bytes"`
	CeilingBytes  int64 `json:"ceiling_bytes"`
}

// hostConstant is what a host takes without any record: code, buffers of the
// connections to its plugins, and the collector's headroom for both.
const hostConstant = 64 << 20

// frameOverhead is what a frame may have besides its records' bytes when it
// carries one record of the largest size: header, offsets, padding.
const frameOverhead = 64 << 10

func makePlan(f *checkedFile) (plan, error) {
	out := plan{File: f.config.Filename, CeilingBytes: memoryCeiling(f)}
	for _, p := range f.pipelines {
		pp, err := makePipelinePlan(p)
		if err != nil {
			return plan{}, err
		}
		for i, t := range pp.Sink.Targets {
			pp.Sink.Targets[i] = f.config.Secrets.Hide(t)
		}
		out.Pipelines = append(out.Pipelines, pp)
	}
	return out, nil
}

func makePipelinePlan(p *checkedPipeline) (pipelinePlan, error) {
	source, errSource := planPlugin(p.source)
	gate, errSink := planPlugin(p.sinks[0])
	if err := errors.Join(errSource, errSink); err != nil {
		return pipelinePlan{}, err
	}
	sink := p.Sinks[0]
	out := pipelinePlan{
		Name: p.Name, Role: string(p.Role), Gate: sink.Name, Granularity: p.Granularity.String(),
		OnGap: string(p.OnGap), OnDiverge: string(p.OnDivergence), MaxAckDelay: p.MaxAckDelay.String(),
		Source: source, Sink: gate, Memory: planMemory(p),
		Costs: costs(p), OptOuts: optOuts(p),
	}
	out.Source.Position, out.Source.Origin = string(p.source.caps.Position), string(p.source.caps.Origin)
	out.Sink.Name, out.Sink.Role = sink.Name, sinkRole(string(sink.Role))
	out.Sink.Targets = append([]string(nil), p.sinks[0].caps.Targets...)
	out.Sink.Capabilities = capabilityNames(p.sinks[0].caps)
	for topic, g := range p.Topics {
		if out.Topics == nil {
			out.Topics = map[string]string{}
		}
		out.Topics[topic] = g.String()
	}
	return out, nil
}

func sinkRole(role string) string {
	if role == "" {
		return "the only sink"
	}
	return role
}

func planPlugin(p *checkedPlugin) (pluginPlan, error) {
	sum, err := p.process.digest()
	return pluginPlan{
		Plugin: p.description.Name, Version: p.description.Version,
		File: p.process.File, SHA256: sum,
	}, err
}

// memoryCeiling is what a host that runs the whole file holds at most.
func memoryCeiling(f *checkedFile) int64 {
	ceiling := int64(hostConstant)
	for _, p := range f.pipelines {
		ceiling += planMemory(p).CeilingBytes - hostConstant
	}
	return ceiling
}

func planMemory(p *checkedPipeline) memoryPlan {
	m := memoryPlan{
		BudgetBytes:   p.MemoryBudget,
		FrameBytes:    max(int64(sdk.DefaultLimits.FrameBytes), p.MaxRecordBytes) + frameOverhead,
		ConstantBytes: hostConstant,
	}
	m.CeilingBytes = m.BudgetBytes + m.FrameBytes + m.ConstantBytes
	return m
}

func capabilityNames(c sdk.Capabilities) []string {
	var out []string
	for _, x := range []struct {
		name string
		has  bool
	}{
		{"durable", c.Durable}, {"replayable", c.Replayable}, {"offset_store", c.OffsetStore}, {"fencing", c.Fencing},
		{"idempotent", c.Idempotent}, {"append_only", c.AppendOnly}, {"holds_until_close", c.HoldsUntilClose},
	} {
		if x.has {
			out = append(out, x.name)
		}
	}
	return out
}
