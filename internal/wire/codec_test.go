package wire

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/twg-io/twg/internal/twgpb"
)

func sinkBatchPB(payload int) *twgpb.SinkBatch {
	p := make([]byte, payload)
	for i := range p {
		p[i] = byte(i * 7)
	}
	return &twgpb.SinkBatch{Session: 1 << 60, Seq: 3, Spans: []*twgpb.Span{{Stream: &twgpb.Stream{Topic: []byte("t\xff")}, From: 1, Next: 9, Run: 4}},
		Rows: []*twgpb.RowRange{{From: 1, To: 2}}, Ids: make([]byte, 64), Payload: p}
}

// sends marshals m as the sending side does and returns the bytes.
func sends(t testing.TB, b *twgpb.SinkBatch) ([]byte, int) {
	t.Helper()
	head := proto.Clone(b).(*twgpb.SinkBatch)
	head.Payload = nil
	released := 0
	out, err := newCodec().Marshal(outgoingSink(head, b.Payload, func() { released++ }))
	if err != nil {
		t.Fatal(err)
	}
	wire := out.Materialize()
	out.Free()
	return wire, released
}

// Any language's generated code reads what we write, and we read what it
// writes.
func TestBatchesArePlainProtobuf(t *testing.T) {
	for _, n := range []int{0, 1, 100, smallPayload - 1, smallPayload, 1 << 20} {
		want := &twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Batch{Batch: sinkBatchPB(n)}}
		bytes, released := sends(t, want.GetBatch())
		if released != 1 {
			t.Errorf("%d bytes: the payload was released %d times", n, released)
		}
		got := &twgpb.SinkCommand{}
		if err := proto.Unmarshal(bytes, got); err != nil || !proto.Equal(got, want) {
			t.Fatalf("%d bytes: generated code reads %v, %v", n, got, err)
		}
		theirs, err := proto.MarshalOptions{Deterministic: true}.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		for name, in := range map[string][]byte{"ours": bytes, "theirs": theirs} {
			for _, piece := range []int{1, 7, 4096, len(in) + 1} {
				got, err := receives(in, piece)
				if err != nil || !proto.Equal(got, want) {
					t.Fatalf("%s, %d bytes in pieces of %d: %v", name, n, piece, err)
				}
			}
		}
	}
}

// receives unmarshals bytes that come in pieces.
func receives(in []byte, piece int) (*twgpb.SinkCommand, error) {
	got := &twgpb.SinkCommand{}
	return got, newCodec().Unmarshal(pieces(in, piece), got)
}

func pieces(in []byte, piece int) mem.BufferSlice {
	var out mem.BufferSlice
	for len(in) > piece {
		out = append(out, mem.SliceBuffer(in[:piece]))
		in = in[piece:]
	}
	return append(out, mem.SliceBuffer(in))
}

func TestThePayloadMayStandAnywhere(t *testing.T) {
	want := &twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Batch{Batch: sinkBatchPB(5000)}}
	b := want.GetBatch()
	var inner []byte
	inner = protowire.AppendBytes(protowire.AppendTag(inner, 15, protowire.BytesType), []byte("overwritten"))
	inner = protowire.AppendBytes(protowire.AppendTag(inner, 15, protowire.BytesType), b.Payload)
	rest := proto.Clone(b).(*twgpb.SinkBatch)
	rest.Payload = nil
	tail, err := proto.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	inner = append(inner, tail...)
	in := protowire.AppendBytes(protowire.AppendTag(nil, fieldSinkBatch, protowire.BytesType), inner)
	if got, err := receives(in, 1000); err != nil || !proto.Equal(got, want) {
		t.Fatalf("%v %v", got, err)
	}
}

func TestTheCodecServesOtherMessages(t *testing.T) {
	c := newCodec()
	out, err := c.Marshal(&emptypb.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Unmarshal(out, &emptypb.Empty{}); err != nil {
		t.Fatal(err)
	}
	in, err := c.Marshal(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Flush{Flush: &twgpb.Flush{Seq: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	got := &twgpb.SinkCommand{}
	if err := c.Unmarshal(in, got); err != nil || got.GetFlush().GetSeq() != 5 {
		t.Fatalf("%v %v", got, err)
	}
	if _, err := c.Marshal("no message"); err == nil {
		t.Error("a string was marshalled")
	}
}

// FuzzDecode: any bytes give an error or what plain protobuf makes of them,
// never a panic and never memory that the input does not justify.
func FuzzDecode(f *testing.F) {
	good, err := proto.Marshal(&twgpb.SinkCommand{Msg: &twgpb.SinkCommand_Batch{Batch: sinkBatchPB(100)}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, 7)
	f.Add(good[:len(good)-1], 3)
	f.Add([]byte{0x12, 0x05, 0x7a, 0xff, 0xff, 0xff, 0x7f}, 1) // a payload of 256 MiB that is not there
	f.Add([]byte{0x12, 0x02, 0x7a, 0x00}, 1)
	f.Add([]byte{0x12, 0x03, 0x7a, 0x81, 0x00}, 2)
	f.Add([]byte{0x12, 0x04, 0x1a, 0x02, 0x0a, 0x00}, 2)
	f.Add(bytes.Repeat([]byte{0xff}, 30), 4)
	f.Add([]byte{}, 1)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		if piece < 1 || piece > 1<<16 {
			piece = 1
		}
		got, err := receives(in, piece)
		want := &twgpb.SinkCommand{}
		if werr := proto.Unmarshal(in, want); (err == nil) != (werr == nil) {
			t.Fatalf("we say %v, plain protobuf says %v", err, werr)
		} else if err == nil && !proto.Equal(got, want) {
			t.Fatalf("we read %v, plain protobuf %v", got, want)
		}
		if b := got.GetBatch(); err == nil && b != nil {
			if cap(b.Payload) > max(2*len(in), minPooled) {
				t.Fatalf("%d bytes in, a payload of capacity %d", len(in), cap(b.Payload))
			}
			if sb, err := fromSinkBatch(b); err == nil {
				sb.Release()
			}
		}
		for _, m := range []any{&twgpb.SourceEvent{}, &twgpb.ReplayEvent{}} {
			newCodec().Unmarshal(pieces(in, piece), m)
			if e, ok := m.(*twgpb.SourceEvent); ok && e.GetBatch() != nil {
				if sb, err := fromSourceBatch(e.GetBatch()); err == nil {
					sb.Release()
				}
			}
		}
	})
}
