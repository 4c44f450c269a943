package wire

import "slices"

// featureWritten: the outcome WRITTEN, and the event Flushed.
const featureWritten = "written"

// features are what this build can do beyond version 1's base.
var features = []string{featureWritten}

// agreed is the part of what the other side named that this side knows.
func agreed(named []string) []string {
	return slices.DeleteFunc(slices.Clone(named), func(f string) bool { return !slices.Contains(features, f) })
}
