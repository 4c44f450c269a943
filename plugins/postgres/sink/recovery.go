package sink

import (
	"context"
	"time"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/sdk"
)

// Streams implements sdk.RecoveryStore.
func (s *Sink) Streams(ctx context.Context) (out []sdk.Stream, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		out, err = o.store.Streams(ctx, o.conn)
		return err
	})
	return out, err
}

// Floors implements sdk.RecoveryStore.
func (s *Sink) Floors(ctx context.Context, lane string, streams []sdk.Stream) (out []sdk.Floors, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		out, err = o.store.Floors(ctx, o.conn, lane, streams)
		return err
	})
	return out, err
}

// PlanWindows implements sdk.RecoveryStore.
func (s *Sink) PlanWindows(ctx context.Context, lane string, w []sdk.RecoveryWindow) (out []sdk.RecoveryWindow, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		out, err = o.store.PlanWindows(ctx, o.conn, lane, w)
		return err
	})
	return out, err
}

// Windows implements sdk.RecoveryStore.
func (s *Sink) Windows(ctx context.Context, lane string) (out []sdk.RecoveryWindow, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		out, err = o.store.Windows(ctx, o.conn, lane)
		return err
	})
	return out, err
}

// ClaimWindow implements sdk.RecoveryStore.
func (s *Sink) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (out *sdk.RecoveryWindow, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		out, err = o.store.ClaimWindow(ctx, o.conn, c)
		return err
	})
	return out, err
}

// RenewWindow implements sdk.RecoveryStore.
func (s *Sink) RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (version uint64, err error) {
	err = s.call(ctx, &s.lanes, func(o *opened) (err error) {
		version, err = o.store.RenewWindow(ctx, o.conn, id, fence, ttl)
		return err
	})
	return version, err
}

// CompleteWindow implements sdk.RecoveryStore.
func (s *Sink) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	return s.call(ctx, &s.lanes, func(o *opened) error { return o.store.CompleteWindow(ctx, o.conn, c) })
}

// Prune implements sdk.RecoveryStore. It has a connection of its own: it may
// take long, and nothing waits for it.
func (s *Sink) Prune(ctx context.Context, p []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	o, err := cfg.open(ctx)
	if err != nil {
		return nil, err
	}
	defer pgdial.Discard(o.conn)
	return o.store.Prune(ctx, o.conn, p, dryRun)
}
