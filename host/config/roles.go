package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// CheckRoles holds a pipeline's roles against what its plugins can do with
// the settings that they were given (R1 to R4). nil capabilities are those of
// a plugin that could not be asked; what depends on them is left out. sinks
// has one entry for each of p.Sinks.
func CheckRoles(p *Pipeline, source *sdk.Capabilities, sinks []*sdk.Capabilities) Diagnostics {
	c := roleCheck{p: p}
	for i, s := range p.Sinks {
		if i < len(sinks) && sinks[i] != nil {
			c.sink(s, sinks[i])
		}
	}
	if p.Source != nil && source != nil {
		c.origin(source)
		c.divergence(source)
		c.topics(source)
		if gate := slices.IndexFunc(p.Sinks, (*Sink).Gates); gate >= 0 && gate < len(sinks) && sinks[gate] != nil {
			c.regime(source, p.Sinks[gate], sinks[gate])
		}
	}
	return c.diags
}

type roleCheck struct {
	p     *Pipeline
	diags Diagnostics
}

func (c *roleCheck) problem(at place, attr, summary, detail string) {
	c.diags = append(c.diags, at.doc.errorAt(at.at(attr), summary, detail))
}

func (c *roleCheck) sink(s *Sink, caps *sdk.Capabilities) {
	asked := s.Durable != nil && *s.Durable
	switch {
	case !caps.Durable && s.Role == SinkPrimaryRaw:
		c.problem(s.place, "role", "primary-raw needs the capability durable",
			fmt.Sprintf("With these settings %q does not confirm that records are on stable storage. Choose another sink, or settings with which it is durable.", s.Plugin))
	case !caps.Durable && s.Gates():
		c.problem(s.place, "durable", "The gating sink lacks the capability durable",
			fmt.Sprintf("Positions are committed on this sink's word, and with these settings %q does not confirm that records are on stable storage. Choose another sink, or settings with which it is durable.", s.Plugin))
	case !caps.Durable && asked:
		c.problem(s.place, "durable", "The sink lacks the capability durable",
			fmt.Sprintf("With these settings %q does not confirm that records are on stable storage. Take durable = true away.", s.Plugin))
	}
	if s.Role == SinkPrimaryRaw && !caps.Replayable {
		c.problem(s.place, "role", "primary-raw needs the capability replayable",
			fmt.Sprintf("Other sinks are rebuilt from the primary-raw sink, and %q cannot be read back. Choose another sink, or take the role away: as the only sink it needs none.", s.Plugin))
	}
	c.shape(s, caps)
	c.size(s, caps)
}

func (c *roleCheck) shape(s *Sink, caps *sdk.Capabilities) {
	if s.Gates() && !slices.Contains(caps.Shapes, sdk.ShapeRaw) {
		c.problem(s.place, "", "The gating sink lacks the shape raw",
			fmt.Sprintf("The gating sink is given records as they came, and %q takes only decoded tables. Choose a sink that takes raw records.", s.Plugin))
	}
}

// size compares with attributes' defaults too, so it is only a warning unless
// the file says so.
func (c *roleCheck) size(s *Sink, caps *sdk.Capabilities) {
	if caps.MaxBatchBytes <= 0 || c.p.MaxRecordBytes <= caps.MaxBatchBytes {
		return
	}
	const summary = "max_record_bytes passes what the sink takes"
	detail := fmt.Sprintf("Sink %q takes at most %d bytes at once; a larger record halts the pipeline. Write max_record_bytes = %d.", s.Name, caps.MaxBatchBytes, caps.MaxBatchBytes)
	if _, said := c.p.attrs["max_record_bytes"]; said {
		c.problem(c.p.place, "max_record_bytes", summary, detail)
		return
	}
	c.diags = append(c.diags, s.doc.warningAt(s.def, summary, detail))
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

// origin refuses a source whose records exist once only (R4).
func (c *roleCheck) origin(caps *sdk.Capabilities) {
	if caps.Origin != sdk.OriginNonReplayable || slices.Contains(c.p.AcceptLoss, c.p.Source.Plugin) {
		return
	}
	c.problem(c.p.Source.place, "", "The source is not replayable",
		fmt.Sprintf("What %q has delivered cannot be had again: a crash before the sink's receipt loses it. If that may be, write accept_loss = [%q] in the pipeline block.", c.p.Source.Plugin, c.p.Source.Plugin))
}

// divergence refuses to go on with what the source cannot do.
func (c *roleCheck) divergence(caps *sdk.Capabilities) {
	if c.p.OnDivergence == OnDivergenceNewIncarnation && !caps.Renames {
		c.problem(c.p.place, "on_divergence", "The source lacks the capability renames",
			fmt.Sprintf("To read a log on as another stream after it was cut, the source has to call it by another name, and %q cannot. Take on_divergence away: the pipeline then halts.", c.p.Source.Plugin))
	}
}

// regime refuses a source whose position nobody would keep (R3).
func (c *roleCheck) regime(source *sdk.Capabilities, gate *Sink, caps *sdk.Capabilities) {
	if source.Position != sdk.PositionStore || caps.OffsetStore {
		return
	}
	c.problem(gate.place, "", "The gating sink lacks the capability offset_store",
		fmt.Sprintf("With these settings no server keeps the position of %q, so the gating sink must keep it, and %q cannot. Choose a sink with an offset store, or settings with which the source's server keeps the position (for Kafka: a consumer group).", c.p.Source.Plugin, gate.Plugin))
}
