package sink

import (
	"slices"
	"sort"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// run is rows [from, to) of a frame that are of one stream.
type run struct{ from, to int }

// part is one span of a batch, with its rows: what is written, answered and
// given to a connection as one.
type part struct {
	batch   *sdk.Batch
	span    sdk.Span
	enc     copyrow.Stream
	rows    []run // to be taken
	left    []run // inside the span, and left out by the host as held
	cursors []sdk.Cursor
}

// split checks a batch as no host may send it, and takes it apart by span.
func split(b *sdk.Batch) ([]*part, error) {
	if err := check(b); err != nil {
		return nil, err
	}
	parts := make([]*part, len(b.Spans))
	for i, s := range b.Spans {
		parts[i] = &part{batch: b, span: s, enc: copyrow.NewStream(s.Stream)}
	}
	at := 0
	for _, r := range append(slices.Clone(b.RowRanges()), sdk.RowRange{From: b.Frame.NumRecords(), To: b.Frame.NumRecords()}) {
		for _, l := range runs(b, at, r.From) {
			if p := partOf(parts, b, l); p != nil {
				p.left = append(p.left, l)
			}
		}
		for _, t := range runs(b, r.From, r.To) {
			p := partOf(parts, b, t)
			if err := fits(b, p, t); err != nil {
				return nil, err
			}
			p.rows = append(p.rows, t)
		}
		at = r.To
	}
	for _, c := range b.Cursors {
		if i := slices.IndexFunc(parts, func(p *part) bool { return p.span.Stream == c.Stream }); i >= 0 {
			parts[i].cursors = append(parts[i].cursors, c)
		}
	}
	return parts, nil
}

func check(b *sdk.Batch) error {
	for i, s := range b.Spans {
		if err := s.Validate(); err != nil {
			return sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
		if err := copyrow.Check(s.Stream); err != nil {
			return sdk.Errorf(sdk.KindFatal, "", "stream %s: %w", s.Stream, err)
		}
		if slices.ContainsFunc(b.Spans[:i], func(o sdk.Span) bool { return o.Stream == s.Stream }) {
			return sdk.Errorf(sdk.KindFatal, "", "the batch has two spans of %s", s.Stream)
		}
	}
	n := b.Frame.NumRecords()
	if len(b.IDs) != 16*n {
		return sdk.Errorf(sdk.KindFatal, "", "%d rows came with %d bytes of record ids", n, len(b.IDs))
	}
	at := 0
	for _, r := range b.RowRanges() {
		if r.From < at || r.To < r.From || r.To > n {
			return sdk.Errorf(sdk.KindFatal, "", "row range [%d,%d) of %d rows", r.From, r.To, n)
		}
		at = r.To
	}
	return nil
}

// runs cuts rows [from, to) where the stream changes.
func runs(b *sdk.Batch, from, to int) []run {
	var out []run
	for from < to {
		k := b.Frame.StreamIndex(from)
		end := from + 1
		for end < to && b.Frame.StreamIndex(end) == k {
			end++
		}
		out = append(out, run{from, end})
		from = end
	}
	return out
}

func partOf(parts []*part, b *sdk.Batch, r run) *part {
	stream := b.Frame.Stream(b.Frame.StreamIndex(r.from))
	for _, p := range parts {
		if p.span.Stream == stream {
			return p
		}
	}
	return nil
}

// fits makes sure that rows lie in their span and ascend: what is held is cut
// out by position.
func fits(b *sdk.Batch, p *part, r run) error {
	if p == nil {
		return sdk.Errorf(sdk.KindFatal, "", "position %d of %s has no span in its batch", b.Frame.Position(r.from), b.Frame.Stream(b.Frame.StreamIndex(r.from)))
	}
	at := p.span.From
	if n := len(p.rows); n > 0 {
		at = b.Frame.Position(p.rows[n-1].to-1) + 1
	}
	for i := r.from; i < r.to; i++ {
		pos := b.Frame.Position(i)
		if pos < at || pos >= p.span.Next {
			return sdk.Errorf(sdk.KindFatal, "", "position %d of %s is outside of its span [%d,%d), or does not follow the one before", pos, p.span.Stream, p.span.From, p.span.Next)
		}
		at = pos + 1
	}
	return nil
}

// within is the part of r whose positions lie in i.
func (r run) within(b *sdk.Batch, i coverage.Interval) run {
	at := func(p int64) int {
		return r.from + sort.Search(r.to-r.from, func(k int) bool { return b.Frame.Position(r.from+k) >= p })
	}
	return run{at(i.From), at(i.Next)}
}
