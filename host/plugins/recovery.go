package plugins

import (
	"context"
	"time"

	"github.com/twg-io/twg/sdk"
)

// supervisedRecovery is the recovery store of whichever process runs now.
type supervisedRecovery struct{ supervisedStore }

// recovered asks the store of the process that runs now.
func recovered[T any](ctx context.Context, r supervisedRecovery, f func(sdk.RecoveryStore) (T, error)) (out T, err error) {
	err = r.with(ctx, func(st sdk.OffsetStore) (err error) {
		out, err = f(st.(sdk.RecoveryStore))
		return err
	})
	return out, err
}

func (r supervisedRecovery) Streams(ctx context.Context) ([]sdk.Stream, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) ([]sdk.Stream, error) { return st.Streams(ctx) })
}

func (r supervisedRecovery) Floors(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.Floors, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) ([]sdk.Floors, error) { return st.Floors(ctx, lane, streams) })
}

func (r supervisedRecovery) PlanWindows(ctx context.Context, lane string, w []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) ([]sdk.RecoveryWindow, error) { return st.PlanWindows(ctx, lane, w) })
}

func (r supervisedRecovery) Windows(ctx context.Context, lane string) ([]sdk.RecoveryWindow, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) ([]sdk.RecoveryWindow, error) { return st.Windows(ctx, lane) })
}

func (r supervisedRecovery) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) (*sdk.RecoveryWindow, error) { return st.ClaimWindow(ctx, c) })
}

func (r supervisedRecovery) RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (uint64, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) (uint64, error) { return st.RenewWindow(ctx, id, fence, ttl) })
}

func (r supervisedRecovery) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	return r.with(ctx, func(st sdk.OffsetStore) error { return st.(sdk.RecoveryStore).CompleteWindow(ctx, c) })
}

func (r supervisedRecovery) Prune(ctx context.Context, p []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	return recovered(ctx, r, func(st sdk.RecoveryStore) ([]sdk.Pruned, error) { return st.Prune(ctx, p, dryRun) })
}
