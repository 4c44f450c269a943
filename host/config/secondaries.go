package config

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/sdk"
)

const noDurable = "The secondary lacks the capability durable"

// secondary checks a sink that is not waited for (R2).
func (c *roleCheck) secondary(s *Sink, caps *sdk.Capabilities) {
	switch {
	case caps.Durable:
	case s.Durable != nil && !*s.Durable:
	case caps.DurableFlush:
		c.problem(s.place, "durable", noDurable,
			fmt.Sprintf("Sink %q: with these settings %q confirms records that it may still lose, and flushes them later. Only what was flushed counts as held, and what it loses before that is rebuilt. If that may be, write durable = false; else choose another sink, or settings with which it is durable.", s.Name, s.Plugin))
	case s.Durable == nil:
		c.problem(s.place, "", noDurable,
			fmt.Sprintf("With these settings %q does not confirm that records are on stable storage, and has no flush that would, so what sink %q loses later would not be rebuilt. If that may be, write durable = false; else choose another sink, or settings with which it is durable.", s.Plugin, s.Name))
	default:
		c.problem(s.place, "durable", noDurable,
			fmt.Sprintf("Sink %q: with these settings %q does not confirm that records are on stable storage, and has no flush that would. Write durable = false if what it loses may stay lost; else choose another sink, or settings with which it is durable.", s.Name, s.Plugin))
	}
	if !slices.Contains(caps.Shapes, sdk.ShapeRaw) {
		c.problem(s.place, "", "The secondary lacks the shape raw",
			fmt.Sprintf("Sink %q is given records as they came, and %q takes only decoded tables. Choose a sink that takes raw records.", s.Name, s.Plugin))
	}
	if c.tooSmall(caps) {
		c.diags = append(c.diags, s.doc.warningAt(s.def, sizeSummary,
			fmt.Sprintf("Sink %q takes at most %d bytes at once; a larger record is set aside for it, and stays in the primary-raw sink. Write max_record_bytes = %d if there is to be none.", s.Name, caps.MaxBatchBytes, caps.MaxBatchBytes)))
	}
}

// targets refuses a secondary that writes where another sink of the pipeline
// does: what one of them lacks could not be told.
func (c *roleCheck) targets(sinks []*sdk.Capabilities) {
	for i, s := range c.p.Sinks {
		for j, o := range c.p.Sinks {
			// Two gates are refused as such, and of two secondaries the later one.
			if i == j || s.Gates() || !o.Gates() && j > i || i >= len(sinks) || j >= len(sinks) {
				continue
			}
			if t := sharedTarget(sinks[i], sinks[j]); t != "" {
				c.problem(s.place, "", "Two sinks write to one target",
					fmt.Sprintf("Sinks %q and %q both write to %s. Give sink %q a target of its own, or take it out.", o.Name, s.Name, t, s.Name))
			}
		}
	}
}

// CheckRaws refuses a pipeline that gates on the primary-raw target of another
// pipeline of the file, if either has secondaries: what they lack is computed
// from all that the target holds.
func CheckRaws(pipelines []Asked) (diags Diagnostics) {
	for i, p := range pipelines {
		for _, o := range pipelines[:i] {
			if len(p.Secondaries())+len(o.Secondaries()) == 0 {
				continue
			}
			if t := sharedTarget(p.Gate, o.Gate); t != "" {
				g := p.Pipeline.Gate()
				diags = append(diags, g.doc.errorAt(g.def, "Two pipelines gate on one target",
					fmt.Sprintf("Pipelines %q and %q both write to %s, and what their secondary sinks lack is computed from all that it holds. Give sink %q a target of its own.", o.Name, p.Name, t, g.Name)))
			}
		}
	}
	return diags
}
