package main

import (
	"context"

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
	return plan.write(a.stdout)
}

// plan is what a file guarantees, for people and programs.
type plan struct {
	File      string         `json:"file"`
	Pipelines []pipelinePlan `json:"pipelines"`
	// CeilingBytes is what host and plugins of all pipelines take at most:
	// Memory.Together.
	CeilingBytes int64    `json:"memory_ceiling_bytes"`
	Memory       ceilings `json:"memory"`
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
	// Source is nil for a host that never touches it.
	Source *pluginPlan `json:"source,omitempty"`
	// Sink is the one that gates.
	Sink        pluginPlan    `json:"sink"`
	Secondaries []pluginPlan  `json:"secondaries,omitempty"`
	Recovery    *recoveryPlan `json:"recovery,omitempty"`
	Memory      memoryPlan    `json:"memory"`
	Guarantee   []string      `json:"guarantee"`
	Costs       []cost        `json:"costs"`
	OptOuts     []string      `json:"opt_outs"`
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
	// BufferBytes and Attempts are a secondary's.
	BufferBytes int64 `json:"buffer_bytes,omitempty"`
	Attempts    int   `json:"attempts,omitempty"`
}

// recoveryPlan is how secondaries are rebuilt.
type recoveryPlan struct {
	WindowRows     int64  `json:"window_rows"`
	WindowDuration string `json:"window_duration"`
	LeaseTTL       string `json:"lease_ttl"`
	BudgetBytes    int64  `json:"budget_bytes"`
	Interval       string `json:"interval"`
}

func makePlan(f *checkedFile) (plan, error) {
	memory := memoryCeilings(f)
	out := plan{File: f.config.Filename, CeilingBytes: memory.Together, Memory: memory}
	for _, p := range f.pipelines {
		pp, err := makePipelinePlan(p)
		if err != nil {
			return plan{}, err
		}
		for _, s := range append(pp.Secondaries, pp.Sink) {
			for i, t := range s.Targets {
				s.Targets[i] = f.config.Secrets.Hide(t)
			}
		}
		out.Pipelines = append(out.Pipelines, pp)
	}
	return out, nil
}

func makePipelinePlan(p *checkedPipeline) (pipelinePlan, error) {
	out := pipelinePlan{
		Name: p.Name, Role: string(p.Role), Gate: p.gate().Name, Granularity: p.Granularity.String(),
		OnGap: string(p.OnGap), OnDiverge: string(p.OnDivergence), MaxAckDelay: p.MaxAckDelay.String(),
		Memory: planMemory(p), Guarantee: guarantee(p), Costs: costs(p), OptOuts: optOuts(p),
	}
	for topic, g := range p.Topics {
		if out.Topics == nil {
			out.Topics = map[string]string{}
		}
		out.Topics[topic] = g.String()
	}
	return out, out.addParts(p)
}

// addParts adds what would run, and what it can do.
func (out *pipelinePlan) addParts(p *checkedPipeline) (err error) {
	if p.source != nil {
		source, err := planPlugin(p.source)
		if err != nil {
			return err
		}
		source.Position, source.Origin = string(p.source.caps.Position), string(p.source.caps.Origin)
		out.Source = &source
	}
	if out.Sink, err = planSink(p.gate()); err != nil {
		return err
	}
	for _, s := range p.secondaries() {
		x, err := planSink(s)
		if err != nil {
			return err
		}
		x.BufferBytes, x.Attempts = s.Buffer, s.Attempts
		out.Secondaries = append(out.Secondaries, x)
	}
	if r := p.Recovery; len(out.Secondaries) > 0 {
		out.Recovery = &recoveryPlan{r.WindowRows, r.WindowDuration.String(), r.LeaseTTL.String(), r.Budget, r.Interval.String()}
	}
	return nil
}

func planSink(s checkedSink) (pluginPlan, error) {
	out, err := planPlugin(s.plugin)
	out.Name, out.Role = s.Name, sinkRole(string(s.Role))
	out.Targets = append([]string(nil), s.plugin.caps.Targets...)
	out.Capabilities = capabilityNames(s.plugin.caps)
	return out, err
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

func capabilityNames(c sdk.Capabilities) []string {
	var out []string
	for _, x := range []struct {
		name string
		has  bool
	}{
		{"durable", c.Durable}, {"durable_flush", c.FlushesLater()}, {"replayable", c.Replayable}, {"offset_store", c.OffsetStore}, {"fencing", c.Fencing},
		{"idempotent", c.Idempotent}, {"append_only", c.AppendOnly}, {"holds_until_close", c.HoldsUntilClose},
	} {
		if x.has {
			out = append(out, x.name)
		}
	}
	return out
}
