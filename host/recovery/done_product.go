//go:build !mutant_complete_unread

package recovery

import "github.com/twg-io/twg/sdk/coverage"

// doneOf is what of a window is done: what the lane has, never more.
func doneOf(done *coverage.Set, window coverage.Interval) []coverage.Interval {
	return done.HeldWithin(window)
}
