package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// noRows is how "none of the rows" is spelled, since no ranges mean all.
var noRows = []*twgpb.RowRange{{}}

func toSourceBatch(b *sdk.Batch) *twgpb.SourceBatch {
	return &twgpb.SourceBatch{Spans: each(b.Spans, toSpan), Cursors: each(b.Cursors, toCursor)}
}

func fromSourceBatch(b *twgpb.SourceBatch) (*sdk.Batch, error) {
	out := &sdk.Batch{}
	return out, fill(out, b.Spans, b.Cursors, b.Frame)
}

func toSinkBatch(session uint64, b *sdk.Batch) *twgpb.SinkBatch {
	out := &twgpb.SinkBatch{Session: session, Seq: b.Seq, Spans: each(b.Spans, toSpan), Cursors: each(b.Cursors, toCursor),
		Rows: each(b.Rows, toRowRange), Ids: b.IDs, Shape: twgpb.Shape_SHAPE_RAW}
	if b.Rows != nil && len(b.Rows) == 0 {
		out.Rows = noRows
	}
	return out
}

func fromSinkBatch(b *twgpb.SinkBatch) (*sdk.Batch, error) {
	if b.Shape != twgpb.Shape_SHAPE_RAW && b.Shape != twgpb.Shape_SHAPE_UNSPECIFIED {
		return nil, violation("batch %d has shape %d, which was not agreed on", b.Seq, b.Shape)
	}
	out := &sdk.Batch{Seq: b.Seq, IDs: b.Ids}
	if err := fill(out, b.Spans, b.Cursors, b.Payload); err != nil {
		return nil, err
	}
	n := records(out.Frame)
	if len(b.Ids) != 16*n {
		return nil, violation("batch %d has %d bytes of ids for %d records", b.Seq, len(b.Ids), n)
	}
	rows, err := fromRowRanges(b.Rows, n)
	out.Rows = rows
	return out, err
}

func toReplayBatch(b *sdk.Batch) *twgpb.ReplayBatch {
	return &twgpb.ReplayBatch{Spans: each(b.Spans, toSpan), Ids: b.IDs}
}

func fromReplayBatch(b *twgpb.ReplayBatch) (*sdk.Batch, error) {
	out := &sdk.Batch{IDs: b.Ids}
	if err := fill(out, b.Spans, nil, b.Frame); err != nil {
		return nil, err
	}
	if n := records(out.Frame); len(b.Ids) != 16*n {
		return nil, violation("a replayed batch has %d bytes of ids for %d records", len(b.Ids), n)
	}
	return out, nil
}

// fill sets what all batches have. An empty payload is a batch of spans
// without rows.
func fill(out *sdk.Batch, spans []*twgpb.Span, cursors []*twgpb.Cursor, payload []byte) (err error) {
	if out.Spans, err = eachErr(spans, fromSpan); err != nil {
		return err
	}
	if out.Cursors, err = eachErr(cursors, fromCursor); err != nil {
		return err
	}
	if len(payload) == 0 {
		return nil
	}
	if out.Frame, err = frame.Open(payload); err != nil {
		return violation("the frame of a batch: %v", err)
	}
	out.Free = func() { recycle(payload) }
	return nil
}

func records(v frame.View) int {
	if v.Len() == 0 {
		return 0
	}
	return v.NumRecords()
}
