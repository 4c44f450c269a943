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

// checkLeftOut makes sure that the rows that the host leaves out are held: if
// not, host and directory disagree, and their span would be claimed without
// them. Nothing is claimed of rows outside of the batch's spans: those are of
// runs that the host has given up, or were answered before.
func checkLeftOut(b *sdk.Batch, missing [][]coverage.Interval) error {
	at := 0
	end := sdk.RowRange{From: b.Frame.NumRecords()}
	for _, r := range append(slices.Clone(b.Rows), end) {
		for _, l := range claimed(b, at, r.From) {
			for _, m := range missing[l.span] {
				if from, to := l.within(b, m); from < to {
					return fmt.Errorf("position %d of %s was left out of its batch as held, and the directory does not hold it: was the directory restored or emptied?",
						b.Frame.Position(from), b.Spans[l.span].Stream)
				}
			}
		}
		at = r.To
	}
	return nil
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
