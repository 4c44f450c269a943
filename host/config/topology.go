package config

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// topology checks what can be said about a pipeline's parts without asking
// the plugins.
func (d *decoder) topology(p *Pipeline) {
	if p.Source == nil && p.Role != RoleRecovery {
		d.problem(p.def, "No source", `A pipeline needs one block source "plugin" { config { ... } }.`)
	}
	if len(p.Sinks) == 0 {
		d.problem(p.def, "No sink", `A pipeline needs a block sink "plugin" "name" { config { ... } }.`)
	}
	if p.Source != nil {
		d.acceptLoss(p)
	}
	d.gates(p)
	d.recovers(p)
	for _, s := range p.Sinks {
		d.durability(s)
		d.laneOf(s)
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

// gates checks that exactly one sink gates (G2), and that secondaries have
// one to be rebuilt from.
func (d *decoder) gates(p *Pipeline) {
	var gates []*Sink
	raw := slices.ContainsFunc(p.Sinks, func(s *Sink) bool { return s.Role == SinkPrimaryRaw })
	for _, s := range p.Sinks {
		switch {
		case s.Gates():
			gates = append(gates, s)
		case !raw:
			d.problem(s.at("role"), "Secondary without primary-raw",
				fmt.Sprintf(`Sink %q may fall behind only because a primary-raw sink holds every record. Give another sink role = "primary-raw", or take this role away.`, s.Name))
		}
	}
	for i, s := range gates {
		if i > 0 {
			d.problem(s.def, "Second gating sink",
				fmt.Sprintf(`The source's position waits for one sink, and %q gates already. Give that one role = "primary-raw" and this one role = "secondary", or write a second pipeline for this one, with a source block of its own (for Kafka: another group).`, gates[0].Name))
		}
	}
}

// recovers checks that there is something to rebuild where the file speaks of
// it.
func (d *decoder) recovers(p *Pipeline) {
	if len(p.Secondaries()) > 0 {
		return
	}
	if p.Role == RoleRecovery {
		d.problem(p.at("role"), "Recovery without a secondary",
			`This host would only rebuild secondary sinks, and there is none. Write role = "both", or add a sink with role = "secondary".`)
	}
	if p.Recovery.doc != nil {
		d.problem(p.Recovery.def, "Recovery without a secondary",
			`It is about secondary sinks, and there is none. Take the block out, or add a sink with role = "secondary".`)
	}
}

// durability checks what a sink block says about itself (R1).
func (d *decoder) durability(s *Sink) {
	switch {
	case s.Role == SinkPrimaryRaw && (s.Durable == nil || !*s.Durable):
		d.problem(s.at("durable"), "primary-raw needs durable = true",
			fmt.Sprintf("Sink %q gates: positions are committed on its word alone. Write durable = true.", s.Name))
	case s.Role == SinkOnly && s.Durable != nil && !*s.Durable:
		d.problem(s.at("durable"), "The gating sink must be durable",
			fmt.Sprintf("Sink %q gates: positions are committed on its word alone. Take durable = false away.", s.Name))
	}
}

// reservedLanes are names under which coverage is kept already, or will be.
var reservedLanes = []string{sdk.LaneRaw, "quarantine", "audit"}

// laneOf checks what only a secondary has: a lane of its own.
func (d *decoder) laneOf(s *Sink) {
	if !s.Gates() {
		if slices.Contains(reservedLanes, s.Name) {
			d.problem(s.def, "Reserved name",
				fmt.Sprintf("A secondary's coverage is kept under its name, and %q is kept for twg's own. Give the sink another name.", s.Name))
		}
		return
	}
	for _, name := range []string{"buffer", "attempts"} {
		if at, said := s.attrs[name]; said {
			d.problem(at, "Only a secondary has "+name,
				fmt.Sprintf("Sink %q gates: memory_budget bounds what waits for it, and it is tried again without end. Take %s away.", s.Name, name))
		}
	}
}
