package source

import (
	"context"
	"errors"
	"time"

	"github.com/twg-io/twg/plugins/kafka-source/recordbatch"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// linger is how long rows wait for more rows to travel with.
const linger = 4 * time.Millisecond

// sender turns chunks into batches, in the order in which they come. One
// goroutine owns it.
type sender struct {
	table  *table
	events sdk.Events
	limits sdk.Limits
	budget *budget
	// maxRecord bounds a record, in bytes.
	maxRecord int

	expand  *recordbatch.Decompressor
	records recordbatch.Reader
	aborted recordbatch.Aborted
	names   names

	builder frame.Builder
	rec     frame.Record
	headers []frame.Header
	spans   []sdk.Span
	runs    []*run // of spans
	cursors []sdk.Cursor
	bytes   int // about what the builder holds
	buffers buffers
}

// run sends what comes over chunks until ctx ends or sending fails.
func (s *sender) run(ctx context.Context, chunks <-chan chunk) {
	defer s.expand.Close()
	for {
		c, err := s.next(ctx, chunks)
		if err == nil {
			err = s.chunk(ctx, c)
		}
		if err != nil {
			if ctx.Err() == nil {
				s.events.Fail(err)
			}
			return
		}
	}
}

// next waits for a chunk. What is built already is sent if none comes soon.
func (s *sender) next(ctx context.Context, chunks <-chan chunk) (chunk, error) {
	var waited <-chan time.Time
	if len(s.spans) > 0 {
		t := time.NewTimer(linger)
		defer t.Stop()
		waited = t.C
	}
	for {
		select {
		case c := <-chunks:
			return c, nil
		case <-waited:
			waited = nil
			if err := s.flush(ctx); err != nil {
				return chunk{}, err
			}
		case <-ctx.Done():
			return chunk{}, ctx.Err()
		}
	}
}

func (s *sender) chunk(ctx context.Context, c chunk) error {
	defer s.budget.add(-c.bytes)
	for i := range c.parts {
		p := &c.parts[i]
		if s.table.isOver(p.run) {
			continue
		}
		if err := s.part(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

func (s *sender) part(ctx context.Context, p *part) error {
	if p.gap != nil {
		err := s.flush(ctx)
		if err == nil && !s.table.isOver(p.run) {
			s.events.Gap(*p.gap)
		}
		return err
	}
	s.aborted.Reset()
	for _, a := range p.aborted {
		s.aborted.Add(a.ProducerID, a.FirstOffset)
	}
	in := p.batches
	for len(in) > 0 {
		b, rest, err := recordbatch.Read(in)
		if errors.Is(err, recordbatch.ErrPartial) {
			return nil // the next fetch has it whole
		}
		if err != nil {
			return unreadable(p.run, err)
		}
		if err := s.batch(ctx, p.run, &b); err != nil {
			return err
		}
		in = rest
	}
	return s.extend(ctx, p.run, p.next)
}

// unreadable says which stream a batch that cannot be read is in.
func unreadable(r *run, err error) error {
	detail := ""
	if errors.Is(err, recordbatch.ErrTooLarge) {
		detail = ": raise max_batch_bytes, or move the group past it"
	}
	return sdk.Errorf(sdk.KindFatal, "read "+r.stream.String(), "%w%s", err, detail)
}

// batch adds a record batch's rows to the frame.
func (s *sender) batch(ctx context.Context, r *run, b *recordbatch.Batch) error {
	if b.Next <= r.sent {
		return nil
	}
	s.note(r, b)
	if b.Records > 0 && !s.aborted.Hides(b) {
		payload, err := s.expand.Expand(b)
		if err != nil {
			return unreadable(r, err)
		}
		s.records.Reset(b, payload)
		if err := s.payload(ctx, r, b); err != nil {
			return err
		}
	}
	return s.extend(ctx, r, b.Next)
}

// note makes a cursor where the leader epoch changes, and where it is seen
// first. It goes with the span that has the position.
func (s *sender) note(r *run, b *recordbatch.Batch) {
	if b.LeaderEpoch <= r.sentEpochs.last() {
		return
	}
	at := max(b.First, r.sent)
	r.sentEpochs = r.sentEpochs.with(b.LeaderEpoch, at)
	r.cursor = &sdk.Cursor{Stream: r.stream, Position: at, Token: r.sentEpochs.token()}
}

func (s *sender) payload(ctx context.Context, r *run, b *recordbatch.Batch) error {
	if b.Control() {
		s.aborted.Marker(b, &s.records)
	} else if err := s.rows(ctx, r, b); err != nil {
		return err
	}
	if err := s.records.Err(); err != nil {
		return unreadable(r, err)
	}
	return nil
}
