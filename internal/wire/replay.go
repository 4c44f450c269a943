package wire

import (
	"context"

	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

// Replay serves what the sink holds. A sink that cannot is asked for nothing:
// its capabilities say so.
func (s sinkServer) Replay(r *twgpb.ReplayRequest, stream twgpb.Sink_ReplayServer) error {
	rp, ok := s.sink.(sdk.Replayer)
	if !ok {
		return s.UnimplementedSinkServer.Replay(r, stream)
	}
	from, err := fromStream(r.Stream)
	if err != nil {
		return toStatus(err)
	}
	read, err := rp.Replay(stream.Context(), sdk.Window{Stream: from, From: r.From, Next: r.Next}, func(b *sdk.Batch) error {
		read := make(chan struct{}) // the batch is valid until this returns
		if err := stream.SendMsg(outgoingReplay(toReplayBatch(b), b.Frame.Bytes(), func() { close(read) })); err != nil {
			return err
		}
		select {
		case <-read:
			return nil
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	})
	if err != nil {
		return toStatus(err)
	}
	return stream.Send(&twgpb.ReplayEvent{Msg: &twgpb.ReplayEvent_Done{Done: &twgpb.ReplayDone{Read: each(read, toSpan)}}})
}

type replayClient struct{ pb twgpb.SinkClient }

func (c replayClient) Replay(ctx context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.pb.Replay(ctx, &twgpb.ReplayRequest{Stream: toStream(w.Stream), From: w.From, Next: w.Next})
	if err != nil {
		return nil, fromStatus("replay "+w.Stream.String(), err)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			return nil, fromStatus("replay "+w.Stream.String(), err)
		}
		switch e := m.Msg.(type) {
		case *twgpb.ReplayEvent_Batch:
			if err := replayed(e.Batch, f); err != nil {
				return nil, err
			}
		case *twgpb.ReplayEvent_Done:
			return eachErr(e.Done.GetRead(), fromSpan)
		case *twgpb.ReplayEvent_Error:
			return nil, fromError(e.Error)
		default:
			return nil, violation("a replay event of a kind that was not agreed on")
		}
	}
}

func replayed(m *twgpb.ReplayBatch, f func(*sdk.Batch) error) error {
	b, err := fromReplayBatch(m)
	if err != nil {
		return err
	}
	defer b.Release()
	return f(b)
}
