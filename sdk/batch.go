package sdk

import "github.com/twg-io/twg/sdk/frame"

// RowRange is the half-open range [From, To) of a frame's rows.
type RowRange struct{ From, To int }

// Batch is records of one or more streams that travel together, with the
// spans that they stand for. It is read-only for whoever receives it; the
// slices that its frame hands out die at the batch's last outcome (a sink) or
// when Write returned an error. Clone what must live longer.
type Batch struct {
	// Seq numbers the batches of one sink session from 1. Zero on the way
	// from a source to the host.
	Seq uint64
	// Frame holds the records, grouped by stream, ascending by position.
	Frame frame.View
	// Rows are the rows to take, ascending and disjoint; nil means all. A
	// batch that straddles what the sink already holds is sent with the rows
	// that are missing; its payload is never rewritten.
	Rows []RowRange
	// IDs holds one 16-byte record id per row of the frame (also of rows that
	// Rows leaves out). The host computes it; empty on the way from a source.
	IDs []byte
	// Spans has one entry a stream of the batch. A stream's rows lie inside
	// its span; a span may have no rows at all.
	Spans []Span
	// Cursors are those of a store-managed source, to be stored in the same
	// transaction as the rows.
	Cursors []Cursor
	// Free, if set, is called once by the batch's last owner, to recycle the
	// memory behind Frame.
	Free func()
}

// ID returns the record id of the frame's row i.
func (b *Batch) ID(i int) [16]byte { return [16]byte(b.IDs[i*16:]) }

// Bytes is the size that flow control counts for the batch: its frame's
// encoded length.
func (b *Batch) Bytes() int64 { return int64(b.Frame.Len()) }

// RowRanges returns Rows, or the one range of all rows.
func (b *Batch) RowRanges() []RowRange {
	if b.Rows != nil {
		return b.Rows
	}
	return []RowRange{{0, b.Frame.NumRecords()}}
}

// NumRows counts the rows to take.
func (b *Batch) NumRows() int {
	n := 0
	for _, r := range b.RowRanges() {
		n += r.To - r.From
	}
	return n
}

// Release gives the batch's memory back. Further use of it is an error.
func (b *Batch) Release() {
	if f := b.Free; f != nil {
		b.Free = nil
		f()
	}
}
