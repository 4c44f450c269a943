package wire

import (
	"context"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// storeServer serves a sink's offset store; what only an sdk.RecoveryStore has
// stands in recoveryserver.go.
type storeServer struct {
	twgpb.UnimplementedOffsetStoreServer
	store sdk.OffsetStore
}

func (s storeServer) Acquire(ctx context.Context, r *twgpb.AcquireRequest) (*twgpb.AcquireResponse, error) {
	streams, err := fromStreams(r.Streams)
	if err != nil {
		return nil, toStatus(err)
	}
	got, err := s.store.Acquire(ctx, r.Owner, streams)
	return &twgpb.AcquireResponse{Streams: each(got, toAcquired)}, toStatus(err)
}

func (s storeServer) Coverage(ctx context.Context, r *twgpb.CoverageRequest) (*twgpb.CoverageResponse, error) {
	streams, err := fromStreams(r.Streams)
	if err != nil {
		return nil, toStatus(err)
	}
	got, err := s.store.Coverage(ctx, r.Lane, streams)
	return &twgpb.CoverageResponse{Streams: each(got, toStreamCoverage)}, toStatus(err)
}

func (s storeServer) Cursors(ctx context.Context, r *twgpb.CursorsRequest) (*twgpb.CursorsResponse, error) {
	streams, err := fromStreams(r.Streams)
	if err != nil {
		return nil, toStatus(err)
	}
	got, err := s.store.Cursors(ctx, streams)
	return &twgpb.CursorsResponse{Cursors: each(got, toCursor)}, toStatus(err)
}

func (s storeServer) Record(ctx context.Context, r *twgpb.RecordRequest) (*twgpb.RecordResponse, error) {
	records, err := eachErr(r.Records, fromCoverageRecord)
	if err != nil {
		return nil, toStatus(err)
	}
	return &twgpb.RecordResponse{}, toStatus(s.store.Record(ctx, r.Lane, records))
}
