//go:build !mutant_skip_coverage

package dirlog

// useCoverage: what is held is not written again.
const useCoverage = true
