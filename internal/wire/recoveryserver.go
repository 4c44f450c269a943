package wire

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// recovery is the store as what windows need, or the answer that there are
// none here.
func (s storeServer) recovery() (sdk.RecoveryStore, error) {
	r, ok := s.store.(sdk.RecoveryStore)
	if !ok {
		return nil, toStatus(sdk.Errorf(sdk.KindFatal, "", "this sink keeps no windows"))
	}
	return r, nil
}

// answer calls f with the recovery store.
func answer[R proto.Message](s storeServer, f func(sdk.RecoveryStore) (R, error)) (R, error) {
	var none R
	store, err := s.recovery()
	if err != nil {
		return none, err
	}
	r, err := f(store)
	if err != nil {
		return none, toStatus(err)
	}
	return r, nil
}

func (s storeServer) Streams(ctx context.Context, _ *twgpb.StreamsRequest) (*twgpb.StreamsResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.StreamsResponse, error) {
		got, err := store.Streams(ctx)
		return &twgpb.StreamsResponse{Streams: toStreams(got)}, err
	})
}

func (s storeServer) Floors(ctx context.Context, r *twgpb.FloorsRequest) (*twgpb.FloorsResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.FloorsResponse, error) {
		streams, err := fromStreams(r.Streams)
		if err != nil {
			return nil, err
		}
		got, err := store.Floors(ctx, r.Lane, streams)
		return &twgpb.FloorsResponse{Streams: each(got, toFloors)}, err
	})
}

func (s storeServer) Windows(ctx context.Context, r *twgpb.WindowsRequest) (*twgpb.WindowsResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.WindowsResponse, error) {
		got, err := store.Windows(ctx, r.Lane)
		return &twgpb.WindowsResponse{Windows: each(got, toWindow)}, err
	})
}

func (s storeServer) PlanWindows(ctx context.Context, r *twgpb.PlanWindowsRequest) (*twgpb.PlanWindowsResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.PlanWindowsResponse, error) {
		windows, err := eachErr(r.Windows, fromWindow)
		if err != nil {
			return nil, err
		}
		got, err := store.PlanWindows(ctx, r.Lane, windows)
		return &twgpb.PlanWindowsResponse{Inserted: each(got, toWindow)}, err
	})
}

func (s storeServer) ClaimWindow(ctx context.Context, r *twgpb.ClaimWindowRequest) (*twgpb.ClaimWindowResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.ClaimWindowResponse, error) {
		got, err := store.ClaimWindow(ctx, sdk.WindowClaim{
			Lane: r.Lane, Holder: r.Holder, TTL: time.Duration(r.TtlMs) * time.Millisecond, ID: r.Id, LeaseVersion: r.LeaseVersion,
		})
		out := &twgpb.ClaimWindowResponse{}
		if got != nil {
			out.Window = toWindow(*got)
		}
		return out, err
	})
}

func (s storeServer) RenewWindow(ctx context.Context, r *twgpb.RenewWindowRequest) (*twgpb.RenewWindowResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.RenewWindowResponse, error) {
		version, err := store.RenewWindow(ctx, r.Id, r.Fence, time.Duration(r.TtlMs)*time.Millisecond)
		return &twgpb.RenewWindowResponse{LeaseVersion: version}, err
	})
}

func (s storeServer) CompleteWindow(ctx context.Context, r *twgpb.CompleteWindowRequest) (*twgpb.CompleteWindowResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.CompleteWindowResponse, error) {
		c := sdk.WindowCompletion{ID: r.Id, Fence: r.Fence}
		var err error
		if c.Done, err = eachErr(r.Done, fromInterval); err != nil {
			return nil, err
		}
		if c.Unrecoverable, err = eachErr(r.Unrecoverable, fromInterval); err != nil {
			return nil, err
		}
		return &twgpb.CompleteWindowResponse{}, store.CompleteWindow(ctx, c)
	})
}

func (s storeServer) Prune(ctx context.Context, r *twgpb.PruneRequest) (*twgpb.PruneResponse, error) {
	return answer(s, func(store sdk.RecoveryStore) (*twgpb.PruneResponse, error) {
		streams, err := eachErr(r.Streams, fromPrune)
		if err != nil {
			return nil, err
		}
		got, err := store.Prune(ctx, streams, r.DryRun)
		return &twgpb.PruneResponse{Streams: each(got, toPruned)}, err
	})
}
