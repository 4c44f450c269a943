//go:build faults

package plugins

// The fault harness tells plugins through the host where to stop.
func init() { passedPrefixes = append(passedPrefixes, "TWG_FAULT_") }
