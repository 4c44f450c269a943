//go:build mutant_skip_coverage

package dirlog

// useCoverage is the deliberate error that the fault harness must catch.
const useCoverage = false
