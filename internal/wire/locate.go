package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// location says where the parts of a batch lie in a message.
type location struct {
	headFrom, headTo int
	payloadFrom      int // -1: none
	payloadLen       int
}

// locate finds the parts of a batch that is the only field of its outer
// message and whose payload, if any, is its last field. That is what our own
// encoder writes; anything else, right or wrong, is not ok.
func locate(data mem.BufferSlice, field int) (l location, ok bool) {
	end := data.Len()
	r := reader{bufs: data}
	if tag, ok := r.varint(); !ok || tag != uint64(field)<<3|uint64(protowire.BytesType) {
		return l, false
	}
	if n, ok := r.varint(); !ok || n != uint64(end-r.pos) {
		return l, false
	}
	l = location{headFrom: r.pos, payloadFrom: -1}
	for l.headTo = r.pos; r.pos < end; l.headTo = r.pos {
		tag, ok := r.varint()
		if !ok {
			return l, false
		}
		if tag == fieldPayload<<3|uint64(protowire.BytesType) {
			n, ok := r.varint()
			l.payloadFrom, l.payloadLen = r.pos, end-r.pos
			return l, ok && n == uint64(end-r.pos)
		}
		if !r.skipValue(protowire.Type(tag&7), end) {
			return l, false
		}
	}
	return l, true
}

// reader walks a message that lies in several buffers.
type reader struct {
	bufs mem.BufferSlice
	off  int // in bufs[0]
	pos  int // in the message
}

// next returns the unread part of the current buffer; empty: the end.
func (r *reader) next() []byte {
	for len(r.bufs) > 0 {
		if b := r.bufs[0].ReadOnlyData()[r.off:]; len(b) > 0 {
			return b
		}
		r.bufs, r.off = r.bufs[1:], 0
	}
	return nil
}

func (r *reader) advance(n int) { r.off, r.pos = r.off+n, r.pos+n }

func (r *reader) varint() (uint64, bool) {
	var v uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := r.next()
		if b == nil {
			return 0, false
		}
		r.advance(1)
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return v, true
		}
	}
	return 0, false
}

func (r *reader) skip(n int) {
	for n > 0 {
		b := r.next()
		if b == nil {
			return
		}
		k := min(n, len(b))
		r.advance(k)
		n -= k
	}
}

func (r *reader) copy(dst []byte) {
	for len(dst) > 0 {
		b := r.next()
		if b == nil {
			return
		}
		n := copy(dst, b)
		r.advance(n)
		dst = dst[n:]
	}
}

// skipValue passes over a field's value; not ok: it does not end before end,
// or is of a type that proto3 has not.
func (r *reader) skipValue(t protowire.Type, end int) bool {
	n := uint64(0)
	switch t {
	case protowire.VarintType:
		_, ok := r.varint()
		return ok
	case protowire.Fixed64Type:
		n = 8
	case protowire.Fixed32Type:
		n = 4
	case protowire.BytesType:
		var ok bool
		if n, ok = r.varint(); !ok {
			return false
		}
	default:
		return false
	}
	if n > uint64(end-r.pos) {
		return false
	}
	r.skip(int(n))
	return true
}
