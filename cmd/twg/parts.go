package main

import (
	"slices"

	"github.com/twg-io/twg/host/config"
)

// checkedPipeline is a pipeline with what its plugins say about it.
type checkedPipeline struct {
	*config.Pipeline
	// source is nil for a host that never touches it.
	source *checkedPlugin
	sinks  []checkedSink
}

// checkedSink is a sink block with its plugin.
type checkedSink struct {
	*config.Sink
	plugin *checkedPlugin
}

// gate is the sink on whose word positions are committed.
func (p *checkedPipeline) gate() checkedSink {
	return p.sinks[slices.IndexFunc(p.sinks, func(s checkedSink) bool { return s.Gates() })]
}

func (p *checkedPipeline) secondaries() []checkedSink {
	var out []checkedSink
	for _, s := range p.sinks {
		if !s.Gates() {
			out = append(out, s)
		}
	}
	return out
}

// parts says which plugins of a pipeline a command has to ask: those of its
// sinks, and with nil the source's.
type parts func(*config.Pipeline, *config.Sink) bool

// everyPart leaves out only the source of a host that never touches it.
func everyPart(p *config.Pipeline, s *config.Sink) bool {
	return s != nil || p.Role != config.RoleRecovery
}
