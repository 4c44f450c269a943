package source

import (
	"context"
	"errors"
	"fmt"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// errRunOver: the run has ended; what was to be sent under it was not.
var errRunOver = errors.New("the run is over")

// deliver sends records under whatever run there is, until they are sent. nil
// also where the source or the connection ends.
func (p *peer) deliver(ctx context.Context, records [][]byte) error {
	for {
		r, err := p.reader.stream.current(ctx)
		if err != nil {
			return nil
		}
		err = p.deliverUnder(ctx, r, records)
		if !errors.Is(err, errRunOver) {
			return err
		}
	}
}

// deliverUnder sends records under one run. errRunOver: none of them was,
// because the run or the connection has ended.
func (p *peer) deliverUnder(ctx context.Context, r *run, records [][]byte) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-r.ctx.Done():
		return errRunOver
	case <-ctx.Done():
		return errRunOver
	}
	both, cancel := context.WithCancel(r.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if _, err := p.events.WaitCredit(both); err != nil {
		return unlessEnded(both, err)
	}
	b, err := p.batch(r, records)
	if err != nil {
		return err
	}
	faultpoint.Hit("send")
	next := b.Spans[0].Next
	if err := p.events.Batch(both, b); err != nil {
		return unlessEnded(both, err)
	}
	r.next = next
	return nil
}

func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return errRunOver
	}
	return err
}

// batch numbers records from the run's position on.
func (p *peer) batch(r *run, records [][]byte) (*sdk.Batch, error) {
	id := p.reader.stream.id
	s := sdk.Span{Stream: id, Run: r.id, From: r.next, Next: r.next + int64(len(records))}
	if s.Next >= sdk.MaxPosition {
		return nil, sdk.Errorf(sdk.KindFatal, "number records of "+id.String(), "position %d passes 2^48, which a record id cannot hold: choose another stream", s.Next)
	}
	p.builder.Reset()
	k := p.builder.Stream(id)
	for i, record := range records {
		p.builder.Append(k, &frame.Record{Position: s.From + int64(i), Value: record})
		s.ExpandedBytes += int64(len(record))
	}
	buf, err := p.builder.Encode(nil)
	if err != nil {
		return nil, sdk.Errorf(sdk.KindFatal, "build frame", "from position %d of %s: %w", s.From, id, err)
	}
	view, err := frame.Open(buf)
	if err != nil {
		return nil, fmt.Errorf("open the frame that was built: %w", err)
	}
	return &sdk.Batch{Frame: view, Spans: []sdk.Span{s}}, nil
}
