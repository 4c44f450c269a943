package sink

import (
	"context"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/sdk"
)

// with calls f with the store's connection, opening one if there is none. A
// connection that failed is not used again; whoever called tries again.
func (s *Sink) with(ctx context.Context, f func(*opened) error) error {
	cfg, err := s.config()
	if err != nil {
		return err
	}
	s.storeCalls.Lock()
	defer s.storeCalls.Unlock()
	if s.storeConn == nil {
		if s.storeConn, err = cfg.open(ctx); err != nil {
			return err
		}
	}
	if err := f(s.storeConn); err != nil {
		if sdk.KindOf(err) != sdk.KindFenced {
			pgdial.Discard(s.storeConn.conn)
			s.storeConn = nil
		}
		return err
	}
	return nil
}

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
	err = s.with(ctx, func(o *opened) (err error) {
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
	return s.with(ctx, func(o *opened) error { return o.store.Record(ctx, o.conn, lane, records) })
}
