package wire

import (
	"context"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// storeClient is a sink's offset store over a connection.
type storeClient struct{ pb twgpb.OffsetStoreClient }

func (s storeClient) Acquire(ctx context.Context, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	r, err := s.pb.Acquire(ctx, &twgpb.AcquireRequest{Owner: text(owner), Streams: toStreams(streams)})
	if err != nil {
		return nil, fromStatus("acquire streams", err)
	}
	return eachErr(r.Streams, fromAcquired)
}

func (s storeClient) Coverage(ctx context.Context, lane string, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	r, err := s.pb.Coverage(ctx, &twgpb.CoverageRequest{Lane: lane, Streams: toStreams(streams)})
	if err != nil {
		return nil, fromStatus("read coverage of lane "+lane, err)
	}
	return eachErr(r.Streams, fromStreamCoverage)
}

func (s storeClient) Cursors(ctx context.Context, streams []sdk.Stream) ([]sdk.Cursor, error) {
	r, err := s.pb.Cursors(ctx, &twgpb.CursorsRequest{Streams: toStreams(streams)})
	if err != nil {
		return nil, fromStatus("read cursors", err)
	}
	return eachErr(r.Cursors, fromCursor)
}

func (s storeClient) Record(ctx context.Context, lane string, records []sdk.CoverageRecord) error {
	_, err := s.pb.Record(ctx, &twgpb.RecordRequest{Lane: lane, Records: each(records, toCoverageRecord)})
	return fromStatus("record coverage of lane "+lane, err)
}
