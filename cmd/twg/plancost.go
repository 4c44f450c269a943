package main

import (
	"fmt"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/sdk"
)

// cost is what an event costs the records of a pipeline.
type cost struct {
	When string `json:"when"`
	Cost string `json:"cost"`
}

// costs says what a crash or an outage of each part costs, from what the
// plugins can do with these settings.
func costs(p *checkedPipeline) []cost {
	var out []cost
	if p.Role != config.RoleRecovery {
		out = gatingCosts(p)
	}
	if len(p.secondaries()) > 0 {
		out = append(out, rebuildCosts(p)...)
	}
	return out
}

// gatingCosts are those of the path from the source to the sink that gates.
func gatingCosts(p *checkedPipeline) []cost {
	sink := p.gate().plugin.caps
	return []cost{
		{"the host is killed", hostKilled(p) + shedByHost(p)},
		{"the source plugin is killed", "It is started again. " + hostKilled(p)},
		{"the " + gatePart(p, "sink plugin", "plugin") + " is killed", "It is started again and is sent what it had not confirmed, from the host's memory. " + redelivery(sink)},
		{"the source's server is away", serverAway(p)},
		{"the " + gatePart(p, "sink's target", "target") + " is away", "The write is tried again without end. Reading pauses once at most " + bytesText(p.MemoryBudget) + " are unconfirmed. " + whileAway(p) + rawAway(p)},
		{"power is lost", "What the sink has confirmed is on stable storage and stays. " + hostKilled(p)},
		{"another host has the same stream", zombie(p)},
		{"a record is refused", fmt.Sprintf("A record that the sink refuses for good, or of more than %s, halts the pipeline, which names it. Nothing behind it is committed.", bytesText(p.MaxRecordBytes))},
		{"records are gone before they were read", gone(p)},
		{"a log was cut and filled anew", cut(p)},
	}
}

// gatePart names a part of the sink that gates: alone where there is no other
// sink, else as that sink's.
func gatePart(p *checkedPipeline, alone, part string) string {
	if len(p.secondaries()) == 0 {
		return alone
	}
	return fmt.Sprintf("%s of %q", part, p.gate().Name)
}

// hostKilled: what is lost with the host's memory.
func hostKilled(p *checkedPipeline) string {
	if p.source.caps.Origin == sdk.OriginNonReplayable {
		return "LOSS: what the source had delivered and the sink had not confirmed cannot be had again."
	}
	return "Reading goes on from " + resumePoint(p) + ". " + redelivery(p.gate().plugin.caps) + ifResumed(p)
}

// ifResumed: what a resumable source needs for that.
func ifResumed(p *checkedPipeline) string {
	if p.source.caps.Origin != sdk.OriginResumable {
		return ""
	}
	return " That needs whoever sends the records to keep them until they are durable, and to send them again."
}

// whileAway says who keeps what is not read.
func whileAway(p *checkedPipeline) string {
	switch p.source.caps.Origin {
	case sdk.OriginNonReplayable:
		return "Nothing that was read is lost; what cannot wait outside meanwhile is."
	case sdk.OriginResumable:
		return "Nothing is lost while whoever sends the records keeps them."
	}
	return "Nothing is lost while the source's server keeps the records."
}

func resumePoint(p *checkedPipeline) string {
	switch {
	case p.gate().plugin.caps.OffsetStore:
		return "the first position that the sink does not hold"
	case p.source.caps.Position == sdk.PositionBroker:
		return "the position that was last committed"
	}
	return "the position that the sink keeps"
}

// redelivery says what becomes of a record that comes twice.
func redelivery(sink sdk.Capabilities) string {
	switch {
	case sink.OffsetStore, sink.Idempotent:
		return "Nothing is lost; what was in flight is delivered again, and no record is there twice."
	case sink.AppendOnly:
		return "Nothing is lost; what was in flight (at most the memory budget) can be there twice."
	}
	return "Nothing is lost; what was in flight (at most the memory budget) is delivered again, and the sink does not say whether it is there twice."
}

func serverAway(p *checkedPipeline) string {
	if p.source.caps.Position == sdk.PositionBroker {
		return "Reading and commits pause and go on by themselves. What is durable stays; if the server has given the streams away meanwhile, what was not committed is delivered again."
	}
	return "Reading pauses and goes on by itself."
}

func zombie(p *checkedPipeline) string {
	switch fencing := p.gate().plugin.caps.Fencing; {
	case fencing && p.source.caps.Position == sdk.PositionStore:
		return "The older one is refused by the sink (epochs) and halts: nothing shares out the streams."
	case fencing:
		return "The older one is refused by the sink (epochs)."
	}
	return "The sink has no fence: until the older one notices, both can write, and records can be there twice."
}

func gone(p *checkedPipeline) string {
	if p.OnGap == config.OnGapContinue {
		return "An alarm names the positions, and reading goes on behind them."
	}
	return "The pipeline halts and names the positions."
}

func cut(p *checkedPipeline) string {
	if p.OnDivergence == config.OnDivergenceNewIncarnation {
		return "An alarm names the position, and what stands there now is read as another stream. What was read before stays."
	}
	return "The pipeline halts and names the position, if the source can tell."
}

// optOuts lists what the file gives up on purpose.
func optOuts(p *checkedPipeline) []string {
	out := []string{}
	if p.source != nil && p.source.caps.Origin == sdk.OriginNonReplayable {
		out = append(out, fmt.Sprintf("accept_loss: records of %q that a crash finds in flight are lost.", p.Source.Plugin))
	}
	if p.source != nil && p.OnGap == config.OnGapContinue {
		out = append(out, `on_gap = "continue": records that the source's server has removed are skipped, with an alarm.`)
	}
	for _, s := range p.secondaries() {
		if s.Durable != nil && !*s.Durable {
			out = append(out, notDurable(p, s))
		}
	}
	return out
}

func bytesText(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		switch {
		case n >= u.size && n%u.size == 0:
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		case n >= u.size:
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
