package sink

import (
	"context"
	"sync"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/sdk"
)

// line is a connection for calls of the store, one at a time. It is opened when
// it is needed. One that failed is not used again; whoever called tries again.
type line struct {
	mu   sync.Mutex
	conn *opened
}

// call calls f with the line's connection.
func (s *Sink) call(ctx context.Context, l *line, f func(*opened) error) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		if l.conn, err = cfg.open(ctx); err != nil {
			return err
		}
	}
	if err := f(l.conn); err != nil {
		if k := sdk.KindOf(err); k != sdk.KindFenced && k != sdk.KindRejected {
			pgdial.Discard(l.conn.conn)
			l.conn = nil
		}
		return err
	}
	return nil
}

// with calls f with the connection for what the gating path waits for.
func (s *Sink) with(ctx context.Context, f func(*opened) error) error { return s.call(ctx, &s.raw, f) }

// Acquire implements sdk.OffsetStore.
func (s *Sink) Acquire(ctx context.Context, owner string, streams []sdk.Stream) (out []sdk.Acquired, err error) {
	err = s.with(ctx, func(o *opened) (err error) {
		out, err = o.store.Acquire(ctx, o.conn, s.liveSession(), owner, streams)
		return err
	})
	return out, err
}

// Coverage implements sdk.OffsetStore.
func (s *Sink) Coverage(ctx context.Context, lane string, streams []sdk.Stream) (out []sdk.StreamCoverage, err error) {
	err = s.call(ctx, s.lineOf(lane), func(o *opened) (err error) {
		out, err = o.store.Coverage(ctx, o.conn, lane, streams)
		return err
	})
	return out, err
}

// Cursors implements sdk.OffsetStore.
func (s *Sink) Cursors(ctx context.Context, streams []sdk.Stream) (out []sdk.Cursor, err error) {
	err = s.with(ctx, func(o *opened) (err error) {
		out, err = o.store.Cursors(ctx, o.conn, streams)
		return err
	})
	return out, err
}

// Record implements sdk.OffsetStore.
func (s *Sink) Record(ctx context.Context, lane string, records []sdk.CoverageRecord) error {
	return s.call(ctx, s.lineOf(lane), func(o *opened) error { return o.store.Record(ctx, o.conn, lane, records) })
}

// lineOf is a lane's connection: raw never waits for what the other lanes do.
func (s *Sink) lineOf(lane string) *line {
	if lane == sdk.LaneRaw {
		return &s.raw
	}
	return &s.lanes
}
