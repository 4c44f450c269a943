package source

import (
	"context"
	"slices"

	"github.com/twg-io/twg/plugins/kafka-source/recordbatch"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// What a row and a header take in a frame besides their bytes, about.
const (
	rowOverhead    = 32
	headerOverhead = 12
)

// maxRecord is the largest record, key, value and headers, in bytes, that is
// offered to the host. It judges smaller ones itself; a larger one may not fit
// the 256 MiB of a message.
const maxRecord = 240 << 20

// rows adds a batch's records, from the run's position on.
func (s *sender) rows(ctx context.Context, r *run, b *recordbatch.Batch) error {
	compressed := int64(b.Len / b.Records)
	kind := frame.TimestampCreate
	if b.LogAppendTime() {
		kind = frame.TimestampAppend
	}
	for rec := s.records.Next(); rec != nil; rec = s.records.Next() {
		if rec.Offset < r.sent {
			continue
		}
		size := s.take(rec, kind)
		if size > s.maxRecord {
			return sdk.Errorf(sdk.KindFatal, "read "+r.stream.String(), "the record at offset %d has %d bytes, more than the %d that can be handed over: move the group past it", rec.Offset, size, s.maxRecord)
		}
		if err := s.add(ctx, r, size, compressed); err != nil {
			return err
		}
	}
	return nil
}

// take puts a record into s.rec and returns its size.
func (s *sender) take(rec *recordbatch.Record, kind frame.TimestampKind) int {
	size := len(rec.Key) + len(rec.Value)
	s.headers = s.headers[:0]
	for _, h := range rec.Headers {
		s.headers = append(s.headers, frame.Header{Name: s.names.of(h.Name), Value: h.Value})
		size += len(h.Name) + len(h.Value)
	}
	s.rec = frame.Record{
		Position: rec.Offset, TimestampMS: rec.TimestampMS, TimestampKind: kind,
		Key: rec.Key, Value: rec.Value, Headers: s.headers,
	}
	return size
}

// add appends s.rec to the frame, after sending what leaves no room for it.
func (s *sender) add(ctx context.Context, r *run, size int, compressed int64) error {
	weight := size + rowOverhead + headerOverhead*len(s.headers)
	n := s.builder.NumRecords()
	if n > 0 && (n >= s.limits.FrameRecords || s.bytes+weight > s.limits.FrameBytes) {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	span, err := s.span(ctx, r)
	if err != nil {
		return err
	}
	s.builder.Append(s.builder.Stream(r.stream), &s.rec)
	s.bytes += weight
	r.sent = s.rec.Position + 1
	span.Next = r.sent
	span.CompressedBytes += compressed
	span.ExpandedBytes += int64(size)
	return nil
}

// extend moves the run's span up to next, over positions that have no row.
func (s *sender) extend(ctx context.Context, r *run, next int64) error {
	if next <= r.sent {
		return nil
	}
	span, err := s.span(ctx, r)
	if err != nil {
		return err
	}
	r.sent = next
	span.Next = next
	return nil
}

// span returns the run's span in the frame. A frame has one span a stream,
// and its rows lie together: what has to come later goes into the next frame.
func (s *sender) span(ctx context.Context, r *run) (*sdk.Span, error) {
	if n := len(s.runs); n > 0 && s.runs[n-1] == r {
		s.takeCursor(r)
		return &s.spans[n-1], nil
	}
	if slices.ContainsFunc(s.runs, func(o *run) bool { return o.stream == r.stream }) {
		if err := s.flush(ctx); err != nil {
			return nil, err
		}
	}
	s.runs = append(s.runs, r)
	s.spans = append(s.spans, sdk.Span{Stream: r.stream, From: r.sent, Next: r.sent, Run: r.id})
	s.takeCursor(r)
	return &s.spans[len(s.spans)-1], nil
}

func (s *sender) takeCursor(r *run) {
	if r.cursor != nil {
		s.cursors, r.cursor = append(s.cursors, *r.cursor), nil
	}
}

// names keeps header names as strings, so that a name that comes again costs
// no allocation.
type names map[string]string

const maxNames = 4096

func (n *names) of(b []byte) string {
	if s, ok := (*n)[string(b)]; ok {
		return s
	}
	if *n == nil || len(*n) >= maxNames {
		*n = make(names)
	}
	s := string(b)
	(*n)[s] = s
	return s
}
