//go:build mutant_no_epoch

package pgstore

// useEpoch is off: whoever believes in owning a stream may write it. The fault
// harness must find that.
const useEpoch = false
