package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/twg-io/twg/internal/twgpb"
)

// The fields of the outer messages that hold a batch, and of a batch that
// hold the payload.
const (
	fieldSourceBatch = 2
	fieldSinkBatch   = 2
	fieldReplayBatch = 1
	fieldPayload     = 15
)

// outgoing is a batch on its way out: what SendMsg is given in place of the
// outer message.
type outgoing struct {
	field   int           // of the outer message
	inner   proto.Message // with an empty payload
	payload []byte
	release func() // once, when payload is no longer read
}

func outgoingSource(b *twgpb.SourceBatch, frame []byte, release func()) *outgoing {
	return &outgoing{fieldSourceBatch, b, frame, release}
}

func outgoingSink(b *twgpb.SinkBatch, frame []byte, release func()) *outgoing {
	return &outgoing{fieldSinkBatch, b, frame, release}
}

func outgoingReplay(b *twgpb.ReplayBatch, frame []byte, release func()) *outgoing {
	return &outgoing{fieldReplayBatch, b, frame, release}
}

// size is that of the whole message.
func (o *outgoing) size() (inner, total int) {
	inner = proto.Size(o.inner)
	total = inner
	if len(o.payload) > 0 {
		total += protowire.SizeTag(fieldPayload) + protowire.SizeBytes(len(o.payload))
	}
	return inner, total
}

func (o *outgoing) marshal(c carrier) (mem.BufferSlice, error) {
	inner, total := o.size()
	if total > MaxMessageBytes-16 {
		return nil, fmt.Errorf("send batch: %d bytes, the transport carries %d at most; lower max_record_bytes", total, MaxMessageBytes)
	}
	// Room for the two tags and lengths, and for a payload that is copied.
	head := pool.Get(inner + 32 + min(len(o.payload), smallPayload))
	b := protowire.AppendTag((*head)[:0], protowire.Number(o.field), protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(total))
	b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, o.inner)
	if err != nil {
		return nil, err
	}
	if len(o.payload) > 0 {
		b = protowire.AppendTag(b, fieldPayload, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(len(o.payload)))
	}
	*head = b
	return c.attach(head, o.payload, o.release), nil
}
