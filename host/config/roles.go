package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// CheckRoles holds a pipeline's roles against what its plugins can do with
// the settings that they were given (R1 to R4). nil capabilities are those of
// a plugin that was not asked or could not be; what depends on them is left
// out. sinks has one entry for each of p.Sinks.
func CheckRoles(p *Pipeline, source *sdk.Capabilities, sinks []*sdk.Capabilities) Diagnostics {
	c := roleCheck{p: p}
	for i, s := range p.Sinks {
		switch {
		case i >= len(sinks) || sinks[i] == nil:
		case s.Gates():
			c.gate(s, sinks[i])
			c.origins(source, s, sinks[i])
		default:
			c.secondary(s, sinks[i])
		}
	}
	if p.Source != nil && source != nil {
		c.divergence(source)
		c.topics(source)
	}
	c.targets(sinks)
	return c.diags
}

type roleCheck struct {
	p     *Pipeline
	diags Diagnostics
}

func (c *roleCheck) problem(at place, attr, summary, detail string) {
	c.diags = append(c.diags, at.doc.errorAt(at.at(attr), summary, detail))
}

// gate checks the sink on whose word positions are committed (R1).
func (c *roleCheck) gate(s *Sink, caps *sdk.Capabilities) {
	switch {
	case !caps.Durable && s.Role == SinkPrimaryRaw:
		c.problem(s.place, "role", "primary-raw needs the capability durable",
			fmt.Sprintf("Sink %q: with these settings %q does not confirm that records are on stable storage. Choose another sink, or settings with which it is durable.", s.Name, s.Plugin))
	case !caps.Durable:
		c.problem(s.place, "durable", "The gating sink lacks the capability durable",
			fmt.Sprintf("Positions are committed on the word of sink %q, and with these settings %q does not confirm that records are on stable storage. Choose another sink, or settings with which it is durable.", s.Name, s.Plugin))
	}
	if s.Role == SinkPrimaryRaw {
		c.raw(s, caps)
	}
	if !slices.Contains(caps.Shapes, sdk.ShapeRaw) {
		c.problem(s.place, "", "The gating sink lacks the shape raw",
			fmt.Sprintf("Sink %q is given records as they came, and %q takes only decoded tables. Choose a sink that takes raw records.", s.Name, s.Plugin))
	}
	c.gateSize(s, caps)
}

// raw checks what the others are rebuilt from (R1).
func (c *roleCheck) raw(s *Sink, caps *sdk.Capabilities) {
	if !caps.Replayable {
		c.problem(s.place, "role", "primary-raw needs the capability replayable",
			fmt.Sprintf("Other sinks are rebuilt from sink %q, and %q cannot be read back. Choose another sink, or take the role away: as the only sink it needs none.", s.Name, s.Plugin))
	}
	if !caps.OffsetStore && len(c.p.Secondaries()) > 0 {
		c.problem(s.place, "role", "primary-raw needs the capability offset_store",
			fmt.Sprintf("Sink %q must also keep what each secondary sink holds, and %q cannot. Choose another sink, or take the secondary sinks away.", s.Name, s.Plugin))
	}
}

// gateSize compares with attributes' defaults too, so it is only a warning
// unless the file says so.
func (c *roleCheck) gateSize(s *Sink, caps *sdk.Capabilities) {
	if !c.tooSmall(caps) {
		return
	}
	detail := fmt.Sprintf("Sink %q takes at most %d bytes at once; a larger record halts the pipeline. Write max_record_bytes = %d.", s.Name, caps.MaxBatchBytes, caps.MaxBatchBytes)
	if _, said := c.p.attrs["max_record_bytes"]; said {
		c.problem(c.p.place, "max_record_bytes", sizeSummary, detail)
		return
	}
	c.diags = append(c.diags, s.doc.warningAt(s.def, sizeSummary, detail))
}

const sizeSummary = "max_record_bytes passes what the sink takes"

func (c *roleCheck) tooSmall(caps *sdk.Capabilities) bool {
	return caps.MaxBatchBytes > 0 && c.p.MaxRecordBytes > caps.MaxBatchBytes
}

// topics warns of a block about a topic that will not be read. A source that
// names no topic may find one of that name later.
func (c *roleCheck) topics(caps *sdk.Capabilities) {
	for _, name := range slices.Sorted(maps.Keys(c.p.topicPlaces)) {
		if at := c.p.topicPlaces[name]; len(caps.Topics) > 0 && !slices.Contains(caps.Topics, name) {
			c.diags = append(c.diags, at.doc.warningAt(at.def, "Block about a topic that is not read",
				fmt.Sprintf("With these settings the source reads no topic %q, and the block has no effect. %s", name, topicMeant(name, caps.Topics))))
		}
	}
}

// topicMeant does not list the topics: there may be hundreds.
func topicMeant(name string, topics []string) string {
	if closest(name, topics) != "" {
		return didYouMean(name, topics)
	}
	return "Take it out, or have the source read the topic."
}

// divergence refuses to go on with what the source cannot do.
func (c *roleCheck) divergence(caps *sdk.Capabilities) {
	if c.p.OnDivergence == OnDivergenceNewIncarnation && !caps.Renames {
		c.problem(c.p.place, "on_divergence", "The source lacks the capability renames",
			fmt.Sprintf("To read a log on as another stream after it was cut, the source has to call it by another name, and %q cannot. Take on_divergence away: the pipeline then halts.", c.p.Source.Plugin))
	}
}

// origins holds the source against the gate (R3, R4).
func (c *roleCheck) origins(source *sdk.Capabilities, gate *Sink, caps *sdk.Capabilities) {
	if c.p.Source == nil || source == nil {
		return
	}
	name := c.p.Source.Plugin
	if source.Origin == sdk.OriginNonReplayable && !slices.Contains(c.p.AcceptLoss, name) {
		c.problem(c.p.Source.place, "", "The source is not replayable",
			fmt.Sprintf("What %q has delivered cannot be had again: a crash before the receipt of sink %q loses it. If that may be, write accept_loss = [%q] in the pipeline block; else choose a source that is replayable or resumable.", name, gate.Name, name))
	}
	if source.Position == sdk.PositionStore && !caps.OffsetStore {
		c.problem(gate.place, "", "The gating sink lacks the capability offset_store",
			fmt.Sprintf("With these settings no server keeps the position of %q, so sink %q must keep it, and %q cannot. Choose a sink with an offset store, or settings with which the source's server keeps the position (for Kafka: a consumer group).", name, gate.Name, gate.Plugin))
	}
}
