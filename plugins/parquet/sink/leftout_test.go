package sink

import (
	"testing"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// twoStreams is a frame with ten rows of each stream, of which the caller
// chooses rows and spans.
func twoStreams(t *testing.T, one, two sdk.Stream) *sdk.Batch {
	t.Helper()
	var b frame.Builder
	var ids []byte
	for _, s := range []sdk.Stream{one, two} {
		k := b.Stream(s)
		for p := range int64(10) {
			r := rec(p)
			b.Append(k, &r)
			ids = appendID(ids, s, p)
		}
	}
	enc, err := b.Encode(nil)
	if err != nil {
		t.Fatal(err)
	}
	v, err := frame.Open(enc)
	if err != nil {
		t.Fatal(err)
	}
	return &sdk.Batch{Frame: v, IDs: ids}
}

// A frame travels as it is: it still has the rows of a stream that the host
// has given up since, and of positions that were answered before. They have no
// span, and nothing is said of them.
func TestRowsOutsideOfTheSpansAreLeftOut(t *testing.T) {
	m := disk.NewMem()
	s := newSink(t, m, "")
	e := acquire(t, s, "host", streamB)
	ses := openSession(t, s, sdk.GranularityRecord)
	b := twoStreams(t, streamA, streamB)
	b.Rows = []sdk.RowRange{{From: 14, To: 17}}
	b.Spans = []sdk.Span{{Stream: streamB, From: 4, Next: 7, Run: 1, Epoch: e}}
	seq := ses.write(b)
	ses.flush()
	if got := ses.outcome(seq); got != sdk.Durable {
		t.Fatalf("batch is %v (%v)", got, ses.failed)
	}
	for _, r := range rows(t, m.Dir()) {
		if r.Partition != streamB.Partition || r.Position < 4 || r.Position > 6 {
			t.Errorf("position %d of partition %d was written", r.Position, r.Partition)
		}
	}
	if got := len(rows(t, m.Dir())); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}

// A row inside a span that was left out, and is not held, is another matter:
// the span would claim it.
func TestRowLeftOutOfItsSpanEndsTheSession(t *testing.T) {
	s := newSink(t, disk.NewMem(), "")
	e := acquire(t, s, "host", streamB)
	ses := openSession(t, s, sdk.GranularityBatch)
	b := twoStreams(t, streamA, streamB)
	b.Rows = []sdk.RowRange{{From: 14, To: 17}}
	b.Spans = []sdk.Span{{Stream: streamB, From: 4, Next: 8, Run: 1, Epoch: e}}
	if _, err := ses.try(b); err == nil {
		t.Error("a span was accepted with position 7 left out and not held")
	}
}
