package frame

// Builder collects records and encodes them as one frame. Its memory is
// reused after Reset. Not safe for concurrent use.
type Builder struct{}

// Reset empties the builder.
func (b *Builder) Reset() { panic("frame: not written yet") }

// Stream returns s's index in the dictionary, adding it if it is new.
func (b *Builder) Stream(s Stream) int { panic("frame: not written yet") }

// Append copies r in, as a row of stream k (an index that Stream returned).
func (b *Builder) Append(k int, r *Record) { panic("frame: not written yet") }

// NumRecords counts what was appended; Size is the encoded length so far.
func (b *Builder) NumRecords() int { panic("frame: not written yet") }

// Size is the length that Encode would give now.
func (b *Builder) Size() int { panic("frame: not written yet") }

// Encode appends the frame to dst.
func (b *Builder) Encode(dst []byte) ([]byte, error) { panic("frame: not written yet") }
