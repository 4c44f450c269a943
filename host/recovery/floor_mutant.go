//go:build mutant_no_live_floor

package recovery

import "github.com/twg-io/twg/sdk"

// planBelow plans what is in flight too. The random schedules must find that.
func planBelow(sdk.Floors) int64 { return sdk.MaxPosition }
