package frame

// View reads a validated frame without copying or allocating per record.
type View struct{ b []byte }

// Open validates b and returns a view of it. It keeps b.
func Open(b []byte) (View, error) { panic("frame: not written yet") }

// Len is the encoded length in bytes.
func (v View) Len() int { return len(v.b) }

// Bytes is the encoded frame.
func (v View) Bytes() []byte { return v.b }

// NumRecords counts the rows.
func (v View) NumRecords() int { panic("frame: not written yet") }

// NumStreams counts the streams in the dictionary; Stream returns one.
func (v View) NumStreams() int { panic("frame: not written yet") }

// Stream returns entry k of the stream dictionary.
func (v View) Stream(k int) Stream { panic("frame: not written yet") }

// StreamIndex is row i's entry in the stream dictionary.
func (v View) StreamIndex(i int) int { panic("frame: not written yet") }

// Position of row i.
func (v View) Position(i int) int64 { panic("frame: not written yet") }

// TimestampMS of row i; any value is legal.
func (v View) TimestampMS(i int) int64 { panic("frame: not written yet") }

// TimestampKind of row i.
func (v View) TimestampKind(i int) TimestampKind { panic("frame: not written yet") }

// Key of row i; nil: null. An empty key is not nil.
func (v View) Key(i int) []byte { panic("frame: not written yet") }

// Value of row i; nil: null. An empty value is not nil.
func (v View) Value(i int) []byte { panic("frame: not written yet") }

// Headers is the range of row i's headers, for HeaderName and HeaderValue.
func (v View) Headers(i int) (from, to int) { panic("frame: not written yet") }

// HeaderName of header h.
func (v View) HeaderName(h int) string { panic("frame: not written yet") }

// HeaderValue of header h; nil: null.
func (v View) HeaderValue(h int) []byte { panic("frame: not written yet") }
