package config

import (
	"fmt"
	"slices"

	"github.com/twg-io/twg/sdk"
)

// Asked is a pipeline with what its plugins can do with its settings. nil: the
// plugin could not be asked.
type Asked struct {
	*Pipeline
	Source, Gate *sdk.Capabilities
}

// CheckTogether holds the pipelines of a file against each other: two that are
// given parts of the same records, and write them to different places, leave
// each place with a part.
func CheckTogether(pipelines []Asked) Diagnostics {
	var diags Diagnostics
	for i, p := range pipelines {
		if p.Source == nil || p.Gate == nil {
			continue
		}
		for _, before := range pipelines[:i] {
			if shared := sharedWith(before, p); shared != "" {
				diags = append(diags, p.Pipeline.Source.Problem("Source shared with another pipeline", fmt.Sprintf(
					"Pipeline %q reads %s too: each record would come to only one of the two, and they write to different places. Give this one settings of its own (for Kafka: another group).",
					before.Name, shared)))
				break
			}
		}
	}
	return diags
}

// sharedWith is the first that both sources share; empty: none, or both write
// to the same place.
func sharedWith(a, b Asked) string {
	if a.Source == nil || a.Gate == nil || sameTargets(a.Gate, b.Gate) {
		return ""
	}
	for _, s := range b.Source.Shares {
		if slices.Contains(a.Source.Shares, s) {
			return s
		}
	}
	return ""
}
