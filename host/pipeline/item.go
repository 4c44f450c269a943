package pipeline

import (
	"fmt"
	"sort"
	"time"

	"github.com/twg-io/twg/host/recordid"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// item is a batch on its way: from the source until its last outcome.
type item struct {
	id    uint64
	came  time.Time
	batch *sdk.Batch
	frame *shared // with secondaries
	// rows has the frame's rows of each span; left what of each span is not
	// durable and still wanted.
	rows []sdk.RowRange
	left [][]coverage.Interval
	// inFlight counts the sends that the sink has not answered in full.
	inFlight int
	attempts int
	oversize *oversize
}

// oversize is a record that admission refuses.
type oversize struct {
	stream   sdk.Stream
	position int64
	bytes    int
}

// tooLarge says why an oversize record cannot be had.
func (p *Pipeline) tooLarge(it *item) string {
	if limit := p.cfg.Limits.MaxRecordBytes; it.oversize.bytes > limit {
		return fmt.Sprintf("it has %d bytes, more than max_record_bytes = %d; raise the limit, or", it.oversize.bytes, limit)
	}
	return fmt.Sprintf("it is the largest of a frame of %d bytes, more than can be granted now; raise memory_budget, or max_record_bytes, which bounds a frame too, or", it.batch.Bytes())
}

// newItem checks that b's rows are grouped by stream, ascend, and lie inside
// their spans, and computes the record ids.
func newItem(b *sdk.Batch, ids *recordid.Hasher, maxRecord int) (*item, error) {
	it := &item{batch: b, rows: make([]sdk.RowRange, len(b.Spans)), left: make([][]coverage.Interval, len(b.Spans))}
	row := 0
	for i, s := range b.Spans {
		if err := s.Validate(); err != nil {
			return nil, protocolErrorOf("source", "%w", err)
		}
		end, err := rowsOf(b.Frame, row, s)
		if err != nil {
			return nil, err
		}
		it.rows[i] = sdk.RowRange{From: row, To: end}
		row = end
		it.left[i] = []coverage.Interval{{From: s.From, Next: s.Next}}
	}
	if row != b.Frame.NumRecords() {
		return nil, protocolErrorOf("source", "row %d of a batch is of %s, which has no span there", row, b.Frame.Stream(b.Frame.StreamIndex(row)))
	}
	it.oversize = findOversize(b.Frame, maxRecord)
	var err error
	b.IDs, err = ids.Fill(b.IDs[:0], b.Frame)
	return it, err
}

// rowsOf returns the end of span s's rows, which begin at row.
func rowsOf(v frame.View, row int, s sdk.Span) (int, error) {
	if row == v.NumRecords() || v.Stream(v.StreamIndex(row)) != s.Stream {
		return row, nil // a span without rows
	}
	k, last := v.StreamIndex(row), s.From-1
	for ; row < v.NumRecords() && v.StreamIndex(row) == k; row++ {
		pos := v.Position(row)
		if pos <= last || pos >= s.Next {
			return 0, protocolErrorOf("source", "position %d of %s is not in order inside its span [%d,%d)", pos, s.Stream, s.From, s.Next)
		}
		last = pos
	}
	return row, nil
}

// findOversize looks for a record above the limit. Only a frame above it can
// hold one.
func findOversize(v frame.View, limit int) *oversize {
	if v.Len() <= limit {
		return nil
	}
	for i := range v.NumRecords() {
		if n := recordSize(v, i); n > limit {
			return &oversize{v.Stream(v.StreamIndex(i)), v.Position(i), n}
		}
	}
	return nil
}

// largest is the frame's largest record; nil: it has none.
func largest(v frame.View) *oversize {
	var out *oversize
	for i := range v.NumRecords() {
		if n := recordSize(v, i); out == nil || n > out.bytes {
			out = &oversize{v.Stream(v.StreamIndex(i)), v.Position(i), n}
		}
	}
	return out
}

// recordSize is what a record's key, value and headers have together.
func recordSize(v frame.View, i int) int {
	n := len(v.Key(i)) + len(v.Value(i))
	from, to := v.Headers(i)
	for h := from; h < to; h++ {
		n += len(v.HeaderName(h)) + len(v.HeaderValue(h))
	}
	return n
}

// dropRun says that nothing of a run is wanted any more.
func (it *item) dropRun(run uint64) {
	for i, s := range it.batch.Spans {
		if s.Run == run {
			it.left[i] = nil
		}
	}
}

// wanted reports whether anything is left.
func (it *item) wanted() bool {
	for _, l := range it.left {
		if len(l) > 0 {
			return true
		}
	}
	return false
}

// durable takes [from, next) off what is left of span i and returns how many
// rows that were.
func (it *item) durable(i int, from, next int64) int {
	n := 0
	for _, l := range it.left[i] {
		r := it.rowsWithin(i, max(l.From, from), min(l.Next, next))
		n += r.To - r.From
	}
	it.left[i] = subtract(it.left[i], from, next)
	return n
}

// subtract removes [from, next) from sorted intervals.
func subtract(in []coverage.Interval, from, next int64) []coverage.Interval {
	if len(in) == 1 && from <= in[0].From && in[0].Next <= next {
		return nil
	}
	var out []coverage.Interval
	for _, l := range in {
		if a := (coverage.Interval{From: l.From, Next: min(l.Next, from)}); !a.Empty() {
			out = append(out, a)
		}
		if b := (coverage.Interval{From: max(l.From, next), Next: l.Next}); !b.Empty() {
			out = append(out, b)
		}
	}
	return out
}

// rowsWithin is the part of span i's rows with positions in [from, next).
func (it *item) rowsWithin(i int, from, next int64) sdk.RowRange {
	r, v := it.rows[i], it.batch.Frame
	if from >= next {
		return sdk.RowRange{From: r.From, To: r.From}
	}
	at := func(p int64) int {
		return r.From + sort.Search(r.To-r.From, func(k int) bool { return v.Position(r.From+k) >= p })
	}
	s := it.batch.Spans[i]
	if from <= s.From && next >= s.Next {
		return r
	}
	return sdk.RowRange{From: at(from), To: at(next)}
}

// compose makes the batches to send: all of the item where all is left; else
// one batch for each layer of what is left, since a batch has one span a
// stream. The payload itself is never rewritten.
func (it *item) compose() []*sdk.Batch {
	var out []*sdk.Batch
	for layer := 0; ; layer++ {
		b := &sdk.Batch{Frame: it.batch.Frame, IDs: it.batch.IDs, Rows: []sdk.RowRange{}}
		whole := true
		for i, l := range it.left {
			if layer >= len(l) {
				whole = false
				continue
			}
			s := it.batch.Spans[i]
			whole = whole && s.From == l[layer].From && s.Next == l[layer].Next
			s.From, s.Next = l[layer].From, l[layer].Next
			b.Spans = append(b.Spans, s)
			if r := it.rowsWithin(i, s.From, s.Next); r.From < r.To {
				b.Rows = append(b.Rows, r)
			}
		}
		if len(b.Spans) == 0 {
			return out
		}
		if whole {
			b.Rows = nil
		}
		b.Cursors = it.batch.Cursors
		out = append(out, b)
	}
}
