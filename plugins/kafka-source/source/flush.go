package source

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// flush sends the frame, once there is credit, without what is over by then.
func (s *sender) flush(ctx context.Context) error {
	if len(s.spans) == 0 {
		return nil
	}
	if _, err := s.events.WaitCredit(ctx); err != nil {
		return err
	}
	for !s.table.beginSend(s.runs) {
		if err := s.removeEnded(); err != nil {
			return err
		}
	}
	defer s.reset()
	if len(s.spans) == 0 {
		return nil
	}
	defer s.table.endSend(s.runs)
	b, err := s.encode()
	if err != nil {
		return err
	}
	faultpoint.Hit("send")
	return s.events.Batch(ctx, b)
}

func (s *sender) reset() {
	s.builder.Reset()
	s.spans, s.runs, s.cursors, s.bytes = s.spans[:0], s.runs[:0], s.cursors[:0], 0
}

// encode makes a batch of what is built. Its spans and its memory are its
// own.
func (s *sender) encode() (*sdk.Batch, error) {
	buf, view, err := s.view()
	if err != nil {
		return nil, err
	}
	return &sdk.Batch{
		Frame:   view,
		Spans:   slices.Clone(s.spans),
		Cursors: slices.Clone(s.cursors),
		Free:    func() { s.buffers.put(buf) },
	}, nil
}

func (s *sender) view() ([]byte, frame.View, error) {
	buf, err := s.builder.Encode(s.buffers.get())
	if err != nil {
		return nil, frame.View{}, sdk.Errorf(sdk.KindFatal, "build frame", "from position %d of %s: %w", s.spans[0].From, s.spans[0].Stream, err)
	}
	view, err := frame.Open(buf)
	if err != nil {
		return nil, frame.View{}, fmt.Errorf("open the frame that was built: %w", err)
	}
	return buf, view, nil
}

// removeEnded takes runs that are over, with their rows, out of the frame.
func (s *sender) removeEnded() error {
	buf, view, err := s.view()
	if err != nil {
		return err
	}
	defer s.buffers.put(buf)
	var spans []sdk.Span
	var runs []*run
	keep := make(map[sdk.Stream]*run)
	for i, r := range s.runs {
		if !s.table.isOver(r) {
			spans, runs = append(spans, s.spans[i]), append(runs, r)
			keep[r.stream] = r
		}
	}
	cursors := slices.DeleteFunc(slices.Clone(s.cursors), func(c sdk.Cursor) bool { return keep[c.Stream] == nil })
	s.reset()
	s.spans, s.runs, s.cursors = append(s.spans, spans...), append(s.runs, runs...), append(s.cursors, cursors...)
	for i := range view.NumRecords() {
		if r := keep[view.Stream(view.StreamIndex(i))]; r != nil {
			s.copyRow(&view, i, r.stream)
		}
	}
	s.bytes = len(buf)
	return nil
}

func (s *sender) copyRow(v *frame.View, i int, id sdk.Stream) {
	s.headers = s.headers[:0]
	from, to := v.Headers(i)
	for h := from; h < to; h++ {
		s.headers = append(s.headers, frame.Header{Name: s.names.of([]byte(v.HeaderName(h))), Value: v.HeaderValue(h)})
	}
	s.rec = frame.Record{
		Position: v.Position(i), TimestampMS: v.TimestampMS(i), TimestampKind: v.TimestampKind(i),
		Key: v.Key(i), Value: v.Value(i), Headers: s.headers,
	}
	s.builder.Append(s.builder.Stream(id), &s.rec)
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
		b.free = b.free[:n-1]
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
