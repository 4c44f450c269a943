package source

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// rowOverhead is what a row takes in a frame besides its bytes, about.
const rowOverhead = 32

// frames turns records of one turn after the other into batches. One goroutine
// uses it.
type frames struct {
	r       *reader
	tn      *turn
	in      *content.Reader // what the records come from; nil: nothing is open
	stream  int
	builder frame.Builder
	span    sdk.Span
	bytes   int
	buffers *buffers
}

// begin takes a turn's records from now on.
func (w *frames) begin(tn *turn) {
	w.tn, w.in = tn, nil
	w.span = sdk.Span{Stream: tn.file.stream, Run: tn.run, From: tn.from, Next: tn.from}
	w.clear()
}

func (w *frames) clear() {
	w.builder.Reset()
	w.stream, w.bytes = w.builder.Stream(w.span.Stream), 0
}

// next is how far records and what lies between them were taken.
func (w *frames) next() int64 { return w.span.Next }

// skip takes n bytes that hold no record.
func (w *frames) skip(n int) { w.span.Next += int64(n) }

// add takes a record with n bytes of the file. What leaves no room for it is
// sent first.
func (w *frames) add(ctx context.Context, rec *frame.Record, n int) error {
	size := len(rec.Key) + len(rec.Value)
	for _, h := range rec.Headers {
		size += len(h.Name) + len(h.Value)
	}
	rows := w.builder.NumRecords()
	if rows > 0 && (rows >= w.r.limits.FrameRecords || w.bytes+size+rowOverhead > w.r.limits.FrameBytes) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	rec.Position = w.span.Next
	w.builder.Append(w.stream, rec)
	w.bytes += size + rowOverhead
	w.span.Next += int64(n)
	w.span.ExpandedBytes += int64(size)
	return nil
}

// flush sends what was taken, once there is credit.
func (w *frames) flush(ctx context.Context) error {
	if w.span.Next == w.span.From {
		return nil
	}
	if w.span.Next >= sdk.MaxPosition {
		return sdk.Errorf(sdk.KindFatal, "read "+w.tn.path, "position %d passes 2^48, which a record id cannot hold", w.span.Next)
	}
	if _, err := w.r.events.WaitCredit(ctx); err != nil {
		return err
	}
	if w.in != nil && w.in.Rewritten() {
		return errReplaced // while it was read: this may be of the new content
	}
	b, err := w.encode()
	if err != nil {
		return err
	}
	if !w.r.table.delivered(w.tn, w.span.Next) {
		b.Release()
		return errRunOver
	}
	faultpoint.Hit("send")
	w.span = sdk.Span{Stream: w.span.Stream, Run: w.span.Run, From: w.span.Next, Next: w.span.Next}
	w.clear()
	return w.r.events.Batch(ctx, b)
}

// encode makes a batch with memory of its own.
func (w *frames) encode() (*sdk.Batch, error) {
	buf, err := w.builder.Encode(w.buffers.get())
	if err != nil {
		return nil, sdk.Errorf(sdk.KindFatal, "build frame", "from position %d of %s: %w", w.span.From, w.tn.path, err)
	}
	view, err := frame.Open(buf)
	if err != nil {
		return nil, fmt.Errorf("open the frame that was built: %w", err)
	}
	return &sdk.Batch{Frame: view, Spans: []sdk.Span{w.span}, Free: func() { w.buffers.put(buf) }}, nil
}

// buffers keeps frames' memory for the next frames. Batches give it back from
// any goroutine.
type buffers struct {
	mu   sync.Mutex
	free [][]byte
}

const (
	maxFree      = 8
	maxFreeBytes = 4 << 20 // a buffer for a larger frame is not kept
)

func (b *buffers) get() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		buf := b.free[n-1]
		b.free = slices.Delete(b.free, n-1, n)
		return buf
	}
	return nil
}

func (b *buffers) put(buf []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.free) < maxFree && cap(buf) <= maxFreeBytes {
		b.free = append(b.free, buf[:0])
	}
}
