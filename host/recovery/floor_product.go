//go:build !mutant_no_live_floor

package recovery

import "github.com/twg-io/twg/sdk"

// planBelow is the position below which windows may lie: above it, the live
// lane may still deliver.
func planBelow(f sdk.Floors) int64 { return f.Live }
