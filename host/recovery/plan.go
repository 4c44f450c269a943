// Package recovery rebuilds from raw what a secondary sink misses. What is
// missing below the live floor becomes windows in the offset store; a host
// claims one by lease, reads the holes of it back from raw, writes them to the
// secondary, records what the sink answered, and completes the window with
// what was really read. The rules, and the loss that each prevents, stand in
// docs/storage.md and docs/model/recovery.
package recovery

import (
	"cmp"
	"math"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Known is what the store says of one stream and one lane. Its parts may have
// been read at different times: the store refuses windows that overlap, and
// who claims one looks again.
type Known struct {
	Stream   sdk.Stream
	Raw      *coverage.Set
	Lane     *coverage.Set
	SetAside []coverage.Interval
	Floors   sdk.Floors
	// Windows are those of the stream that are not complete.
	Windows []sdk.RecoveryWindow
}

// Options bound what is planned.
type Options struct {
	// WindowRows is how many positions a window has at most.
	WindowRows int64
	// Within is the part of each stream to look at; the zero value is all.
	Within coverage.Interval
	// RetrySetAside plans also what the sink had refused for good.
	RetrySetAside bool
	// Windows is how many windows that can be rebuilt a stream has at most, with
	// those that are there; what is left is planned once there is room. 0: any
	// number.
	Windows int
}

// Missing returns what raw holds and the lane does not, below the live floor:
// above it, it is still being delivered.
func (k *Known) Missing(o Options) []coverage.Interval {
	return k.without(k.Raw.HeldWithin(k.below(o)), o.RetrySetAside)
}

// Unrecoverable returns what raw held once and has no more, and the lane never
// got.
func (k *Known) Unrecoverable(o Options) []coverage.Interval {
	var pruned coverage.Set
	for _, v := range k.Raw.Voids() {
		if v.Reason == coverage.Pruned {
			pruned.AddHeld(v.Interval)
		}
	}
	return k.without(pruned.HeldWithin(k.below(o)), false)
}

func (k *Known) below(o Options) coverage.Interval {
	in := coverage.Interval{Next: planBelow(k.Floors)}
	if !o.Within.Empty() {
		in.From, in.Next = max(in.From, o.Within.From), min(in.Next, o.Within.Next)
	}
	return in
}

// without takes off what the lane has, and what it has set aside.
func (k *Known) without(in []coverage.Interval, retry bool) []coverage.Interval {
	have := k.Lane.Clone()
	if !retry {
		for _, i := range k.SetAside {
			have.AddHeld(i)
		}
	}
	var out []coverage.Interval
	for _, i := range in {
		out = append(out, have.Missing(i)...)
	}
	return out
}

// Plan makes the windows that are wanted of a stream, ascending. A window may
// reach over positions that the lane has: only its holes are replayed.
func Plan(k *Known, o Options) []sdk.RecoveryWindow {
	var taken coverage.Set
	for _, w := range k.Windows {
		taken.AddHeld(coverage.Interval{From: w.From, Next: w.Next})
	}
	holes := func(in []coverage.Interval) (out []coverage.Interval) {
		for _, i := range in {
			out = append(out, taken.Missing(i)...)
		}
		return out
	}
	window := func(i coverage.Interval, state sdk.WindowState) sdk.RecoveryWindow {
		return sdk.RecoveryWindow{Window: sdk.Window{Stream: k.Stream, From: i.From, Next: i.Next}, State: state, RetrySetAside: o.RetrySetAside}
	}
	var out []sdk.RecoveryWindow
	for _, i := range hulls(holes(k.Missing(o)), o.WindowRows, &taken, k.room(o)) {
		out = append(out, window(i, sdk.WindowOpen))
	}
	for _, i := range holes(k.Unrecoverable(o)) {
		out = append(out, window(i, sdk.WindowUnrecoverable))
	}
	slices.SortFunc(out, func(a, b sdk.RecoveryWindow) int { return cmp.Compare(a.From, b.From) })
	return out
}

// room is how many more windows that can be rebuilt the stream may have.
func (k *Known) room(o Options) int {
	if o.Windows == 0 {
		return math.MaxInt
	}
	n := o.Windows
	for _, w := range k.Windows {
		if w.State != sdk.WindowUnrecoverable {
			n--
		}
	}
	return n
}

// hulls joins holes into pieces of at most rows positions, none of which
// reaches over what is taken, and cuts the larger ones: the first most of them.
func hulls(holes []coverage.Interval, rows int64, taken *coverage.Set, most int) (out []coverage.Interval) {
	for _, h := range holes {
		for !h.Empty() {
			if n := len(out) - 1; n >= 0 && out[n].Next-out[n].From < rows && h.From-out[n].From < rows &&
				len(taken.HeldWithin(coverage.Interval{From: out[n].Next, Next: h.From})) == 0 {
				out[n].Next = min(h.Next, out[n].From+rows)
				h.From = out[n].Next
				continue
			}
			if len(out) >= most {
				return out
			}
			next := min(h.Next, h.From+rows)
			out = append(out, coverage.Interval{From: h.From, Next: next})
			h.From = next
		}
	}
	return out
}
