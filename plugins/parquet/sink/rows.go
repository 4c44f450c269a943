package sink

import (
	"fmt"
	"slices"
	"sort"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// run is a range of a frame's rows that are of one stream.
type run struct {
	span     int // in Batch.Spans
	from, to int
}

// check refuses what no host may send.
func check(b *sdk.Batch) error {
	for _, s := range b.Spans {
		if err := s.Validate(); err != nil {
			return sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
		if err := footer.CheckStream(s.Stream); err != nil {
			return sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
	}
	if n := b.Frame.NumRecords(); len(b.IDs) != 16*n {
		return sdk.Errorf(sdk.KindFatal, "", "%d rows came with %d bytes of record ids", n, len(b.IDs))
	}
	at := 0
	for _, r := range b.RowRanges() {
		if r.From < at || r.To < r.From || r.To > b.Frame.NumRecords() {
			return sdk.Errorf(sdk.KindFatal, "", "row range [%d,%d) of %d rows", r.From, r.To, b.Frame.NumRecords())
		}
		at = r.To
	}
	return nil
}

// runs cuts the rows [from, to) where the stream changes.
func runs(b *sdk.Batch, from, to int) ([]run, error) {
	var out []run
	for from < to {
		k := b.Frame.StreamIndex(from)
		end := from + 1
		for end < to && b.Frame.StreamIndex(end) == k {
			end++
		}
		i, err := spanOf(b, k, from, end-1)
		if err != nil {
			return nil, err
		}
		out = append(out, run{i, from, end})
		from = end
	}
	return out, nil
}

// spanOf finds the span of stream k of the frame, inside which rows first to
// last have to lie.
func spanOf(b *sdk.Batch, k, first, last int) (int, error) {
	stream := b.Frame.Stream(k)
	for i, s := range b.Spans {
		if s.Stream != stream {
			continue
		}
		if p, q := b.Frame.Position(first), b.Frame.Position(last); p < s.From || q >= s.Next || q < p {
			return 0, sdk.Errorf(sdk.KindFatal, "", "rows at positions %d to %d of %s lie outside of their span [%d,%d)", p, q, stream, s.From, s.Next)
		}
		return i, nil
	}
	return 0, sdk.Errorf(sdk.KindFatal, "", "position %d of %s has no span in its batch", b.Frame.Position(first), stream)
}

// within is the part of r whose positions lie in i. Positions ascend.
func (r run) within(b *sdk.Batch, i coverage.Interval) (from, to int) {
	at := func(p int64) int {
		return r.from + sort.Search(r.to-r.from, func(k int) bool { return b.Frame.Position(r.from+k) >= p })
	}
	return at(i.From), at(i.Next)
}

// leaveOut sees to the rows that the host leaves out and that are not held.
//
// Under an epoch this is the gating sink, and the host leaves out only what it
// knows to be held: host and directory disagree, and the span would be claimed
// without them. Without an epoch this is a secondary, from which the host keeps
// records (they were rejected, or are another's): they are not claimed.
//
// Nothing is said of rows outside of the batch's spans: those are of runs that
// the host has given up, or were answered before.
func leaveOut(b *sdk.Batch, missing [][]coverage.Interval) error {
	out := make([]coverage.Set, len(b.Spans))
	at := 0
	end := sdk.RowRange{From: b.Frame.NumRecords()}
	for _, r := range append(slices.Clone(b.Rows), end) {
		for _, l := range claimed(b, at, r.From) {
			if err := l.leaveOut(b, missing[l.span], &out[l.span]); err != nil {
				return err
			}
		}
		at = r.To
	}
	for i := range out {
		missing[i] = outside(missing[i], &out[i])
	}
	return nil
}

// leaveOut adds the run's positions that are missing to out.
func (r run) leaveOut(b *sdk.Batch, missing []coverage.Interval, out *coverage.Set) error {
	span := b.Spans[r.span]
	for _, m := range missing {
		from, to := r.within(b, m)
		if from < to && !span.Epoch.IsZero() {
			return fmt.Errorf("position %d of %s was left out of its batch as held, and the directory does not hold it: was the directory restored or emptied?",
				b.Frame.Position(from), span.Stream)
		}
		for ; from < to; from++ {
			p := b.Frame.Position(from)
			out.AddHeld(coverage.Interval{From: p, Next: p + 1})
		}
	}
	return nil
}

// outside returns the parts of is that are not in s.
func outside(is []coverage.Interval, s *coverage.Set) (out []coverage.Interval) {
	for _, i := range is {
		out = append(out, s.Missing(i)...)
	}
	return out
}

// claimed cuts the rows [from, to) as runs does, without those of streams that
// have no span in the batch.
func claimed(b *sdk.Batch, from, to int) []run {
	var out []run
	for from < to {
		k := b.Frame.StreamIndex(from)
		end := from + 1
		for end < to && b.Frame.StreamIndex(end) == k {
			end++
		}
		stream := b.Frame.Stream(k)
		if i := slices.IndexFunc(b.Spans, func(s sdk.Span) bool { return s.Stream == stream }); i >= 0 {
			out = append(out, run{i, from, end})
		}
		from = end
	}
	return out
}
