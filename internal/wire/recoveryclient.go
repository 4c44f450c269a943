package wire

import (
	"context"
	"time"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// recoveryClient is a sink's sdk.RecoveryStore over a connection.
type recoveryClient struct{ storeClient }

func (s recoveryClient) Streams(ctx context.Context) ([]sdk.Stream, error) {
	r, err := s.pb.Streams(ctx, &twgpb.StreamsRequest{})
	if err != nil {
		return nil, fromStatus("list streams", err)
	}
	return fromStreams(r.Streams)
}

func (s recoveryClient) Floors(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.Floors, error) {
	r, err := s.pb.Floors(ctx, &twgpb.FloorsRequest{Lane: lane, Streams: toStreams(streams)})
	if err != nil {
		return nil, fromStatus("read floors of lane "+lane, err)
	}
	return eachErr(r.Streams, fromFloors)
}

func (s recoveryClient) Windows(ctx context.Context, lane string) ([]sdk.RecoveryWindow, error) {
	r, err := s.pb.Windows(ctx, &twgpb.WindowsRequest{Lane: lane})
	if err != nil {
		return nil, fromStatus("read windows of lane "+lane, err)
	}
	return eachErr(r.Windows, fromWindow)
}

func (s recoveryClient) PlanWindows(ctx context.Context, lane string, w []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	r, err := s.pb.PlanWindows(ctx, &twgpb.PlanWindowsRequest{Lane: lane, Windows: each(w, toWindow)})
	if err != nil {
		return nil, fromStatus("plan windows of lane "+lane, err)
	}
	return eachErr(r.Inserted, fromWindow)
}

func (s recoveryClient) ClaimWindow(ctx context.Context, c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	r, err := s.pb.ClaimWindow(ctx, &twgpb.ClaimWindowRequest{
		Lane: c.Lane, Holder: text(c.Holder), TtlMs: c.TTL.Milliseconds(), Id: c.ID, LeaseVersion: c.LeaseVersion,
	})
	if err != nil {
		return nil, fromStatus("claim a window of lane "+c.Lane, err)
	}
	if r.Window == nil {
		return nil, nil
	}
	w, err := fromWindow(r.Window)
	return &w, err
}

func (s recoveryClient) RenewWindow(ctx context.Context, id, fence uint64, ttl time.Duration) (uint64, error) {
	r, err := s.pb.RenewWindow(ctx, &twgpb.RenewWindowRequest{Id: id, Fence: fence, TtlMs: ttl.Milliseconds()})
	if err != nil {
		return 0, fromStatus("renew the lease of a window", err)
	}
	return r.LeaseVersion, nil
}

func (s recoveryClient) CompleteWindow(ctx context.Context, c sdk.WindowCompletion) error {
	_, err := s.pb.CompleteWindow(ctx, &twgpb.CompleteWindowRequest{
		Id: c.ID, Fence: c.Fence, Done: each(c.Done, toInterval), Unrecoverable: each(c.Unrecoverable, toInterval),
	})
	return fromStatus("complete a window", err)
}

func (s recoveryClient) Prune(ctx context.Context, p []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	r, err := s.pb.Prune(ctx, &twgpb.PruneRequest{Streams: each(p, toPrune), DryRun: dryRun})
	if err != nil {
		return nil, fromStatus("prune raw", err)
	}
	return eachErr(r.Streams, fromPruned)
}
