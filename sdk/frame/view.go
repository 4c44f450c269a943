package frame

import "bytes"

// View reads a validated frame without copying or allocating per record. It
// is as cheap to pass as a pointer. The zero View has no records. Any number
// of goroutines may use a View at once.
//
// The slices that it returns lie in the frame's bytes: they must not be
// changed, and they die with them. An index out of range panics, as a slice's
// does.
type View struct{ f *fields }

// fields are the places of a frame's buffers. Dictionaries are decoded once.
type fields struct {
	b           []byte
	n           int
	position    []byte
	timestamp   []byte
	stream      []byte
	key         column
	value       column
	headerOff   []byte
	headerName  []byte
	headerValue column
	kind        []byte
	streams     []Stream
	names       []string
}

// Clone returns a view of a copy of the frame's bytes.
func (v View) Clone() View {
	if v.f == nil {
		return View{}
	}
	c, err := Open(bytes.Clone(v.f.b))
	if err != nil {
		panic("frame: the bytes behind a view were changed: " + err.Error())
	}
	return c
}

// Len is the encoded length in bytes.
func (v View) Len() int { return len(v.Bytes()) }

// Bytes is the encoded frame.
func (v View) Bytes() []byte {
	if v.f == nil {
		return nil
	}
	return v.f.b
}

// NumRecords counts the rows.
func (v View) NumRecords() int {
	if v.f == nil {
		return 0
	}
	return v.f.n
}

// NumStreams counts the streams in the dictionary; Stream returns one. A
// stream of the dictionary need not have rows.
func (v View) NumStreams() int {
	if v.f == nil {
		return 0
	}
	return len(v.f.streams)
}

// Stream returns entry k of the stream dictionary. No stream is there twice.
func (v View) Stream(k int) Stream { return v.f.streams[k] }

// StreamIndex is row i's entry in the stream dictionary.
func (v View) StreamIndex(i int) int { return int(le.Uint32(v.f.stream[i*4:])) }

// Position of row i. The frame does not judge it: it may be negative.
func (v View) Position(i int) int64 { return int64(le.Uint64(v.f.position[i*8:])) }

// TimestampMS of row i, milliseconds since 1970; any value is legal.
func (v View) TimestampMS(i int) int64 { return int64(le.Uint64(v.f.timestamp[i*8:])) }

// TimestampKind of row i.
func (v View) TimestampKind(i int) TimestampKind {
	if len(v.f.kind) == 0 {
		_ = v.f.position[i*8]
		return TimestampNone
	}
	return TimestampKind(v.f.kind[i])
}

// Key of row i; nil: null. An empty key is not nil.
func (v View) Key(i int) []byte { return v.f.key.at(i) }

// Value of row i; nil: null. An empty value is not nil.
func (v View) Value(i int) []byte { return v.f.value.at(i) }

// Headers is the range of row i's headers, for HeaderName and HeaderValue.
func (v View) Headers(i int) (from, to int) {
	o := v.f.headerOff[i*4 : i*4+8]
	return int(le.Uint32(o)), int(le.Uint32(o[4:]))
}

// HeaderName of header h.
func (v View) HeaderName(h int) string { return v.f.names[le.Uint32(v.f.headerName[h*4:])] }

// HeaderValue of header h; nil: null.
func (v View) HeaderValue(h int) []byte { return v.f.headerValue.at(h) }

// Record fills r with row i, reusing r.Headers. Its slices lie in the frame.
func (v View) Record(i int, r *Record) {
	from, to := v.Headers(i)
	hs := r.Headers[:0]
	for h := from; h < to; h++ {
		hs = append(hs, Header{v.HeaderName(h), v.HeaderValue(h)})
	}
	*r = Record{v.Position(i), v.TimestampMS(i), v.TimestampKind(i), v.Key(i), v.Value(i), hs}
}
