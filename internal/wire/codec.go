package wire

import (
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/twg-io/twg/internal/twgpb"
)

// codec writes and reads plain protobuf. What it adds to gRPC's own codec is
// that the payload of a batch is neither copied on the way out nor more than
// once on the way in. It also serves go-plugin's messages: a server has one
// codec for all its services.
type codec struct {
	plain   encoding.CodecV2
	carrier carrier
}

func newCodec() codec {
	return codec{plain: encoding.GetCodecV2(grpcproto.Name), carrier: inline{}}
}

func (c codec) Name() string { return grpcproto.Name }

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if b, ok := v.(*outgoing); ok {
		return b.marshal(c.carrier)
	}
	return c.plain.Marshal(v)
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *twgpb.SourceEvent:
		b := &twgpb.SourceBatch{}
		if p, ok, err := c.split(data, fieldSourceBatch, b); ok {
			b.Frame = p
			m.Msg = &twgpb.SourceEvent_Batch{Batch: b}
			return err
		}
	case *twgpb.SinkCommand:
		b := &twgpb.SinkBatch{}
		if p, ok, err := c.split(data, fieldSinkBatch, b); ok {
			b.Payload = p
			m.Msg = &twgpb.SinkCommand_Batch{Batch: b}
			return err
		}
	case *twgpb.ReplayEvent:
		b := &twgpb.ReplayBatch{}
		if p, ok, err := c.split(data, fieldReplayBatch, b); ok {
			b.Frame = p
			m.Msg = &twgpb.ReplayEvent_Batch{Batch: b}
			return err
		}
	}
	return c.plain.Unmarshal(data, v)
}

// split decodes the batch in field of the outer message into inner, and
// returns its payload apart. Not ok: the bytes are not in the order that our
// own encoder writes, and the plain codec must judge them.
func (c codec) split(data mem.BufferSlice, field int, inner proto.Message) ([]byte, bool, error) {
	l, ok := locate(data, field)
	if !ok {
		return nil, false, nil
	}
	head := pool.Get(l.headTo - l.headFrom)
	defer pool.Put(head)
	r := reader{bufs: data}
	r.skip(l.headFrom)
	r.copy(*head)
	if err := proto.Unmarshal(*head, inner); err != nil {
		return nil, true, err
	}
	if l.payloadFrom < 0 {
		return nil, true, nil
	}
	r.skip(l.payloadFrom - l.headTo)
	return c.carrier.take(&r, l.payloadLen), true, nil
}
