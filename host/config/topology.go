package config

import (
	"fmt"
	"slices"
)

// topology checks what can be said about a pipeline's parts without asking
// the plugins.
func (d *decoder) topology(p *Pipeline) {
	if p.Source == nil {
		d.problem(p.def, "No source", `A pipeline needs one block source "plugin" { config { ... } }.`)
	}
	if len(p.Sinks) == 0 {
		d.problem(p.def, "No sink", `A pipeline needs a block sink "plugin" "name" { config { ... } }.`)
	}
	if p.Role == RoleRecovery {
		d.problem(p.at("role"), "Recovery is not part of this version",
			`Recovery rebuilds secondary sinks, which this version does not have. Write role = "both", or leave it out.`)
	}
	if p.Source != nil {
		d.acceptLoss(p)
	}
	d.gates(p)
	for _, s := range p.Sinks {
		d.durability(s)
	}
}

func (d *decoder) acceptLoss(p *Pipeline) {
	for _, name := range p.AcceptLoss {
		if name != p.Source.Plugin {
			d.problem(p.at("accept_loss"), "Unknown source in accept_loss",
				fmt.Sprintf("It names source plugins whose records may be lost. This pipeline's source is %q.", p.Source.Plugin))
		}
	}
}

// gates checks that exactly one sink gates (G2).
func (d *decoder) gates(p *Pipeline) {
	var gates []*Sink
	raw := slices.ContainsFunc(p.Sinks, func(s *Sink) bool { return s.Role == SinkPrimaryRaw })
	for _, s := range p.Sinks {
		switch {
		case s.Gates():
			gates = append(gates, s)
		case !raw:
			d.problem(s.at("role"), "Secondary without primary-raw",
				`A secondary sink may fall behind because a primary-raw sink holds every record. Give another sink role = "primary-raw", or take this role away.`)
		default:
			d.problem(s.at("role"), "Secondary sinks are not supported in this version",
				"This version runs pipelines with one sink. Take the sink out; its records can be rebuilt from the primary-raw sink later.")
		}
	}
	for i, s := range gates {
		if i > 0 {
			d.problem(s.def, "Second gating sink",
				fmt.Sprintf("The source's position waits for one sink, and %q gates already. Write a second pipeline for this one, with a source block of its own (for Kafka: another group).", gates[0].Name))
		}
	}
}

// durability checks what a sink block says about itself (R1).
func (d *decoder) durability(s *Sink) {
	switch {
	case s.Role == SinkPrimaryRaw && (s.Durable == nil || !*s.Durable):
		d.problem(s.at("durable"), "primary-raw needs durable = true",
			"The primary-raw sink gates: positions are committed on its word alone. Write durable = true.")
	case s.Role == SinkOnly && s.Durable != nil && !*s.Durable:
		d.problem(s.at("durable"), "The gating sink must be durable",
			"This sink gates: positions are committed on its word alone. Take durable = false away.")
	}
}
