//go:build !mutant_no_epoch

package pgstore

// useEpoch: epochs are checked and older owners' backends are ended.
const useEpoch = true
