package frame

// columnBuilder grows a column. Its offsets leave out the leading 0. The
// validity bits are kept always and written only if something is null.
type columnBuilder struct {
	off, data, valid []byte
	n, nulls         int
}

func (c *columnBuilder) reset() {
	c.off, c.data, c.valid = c.off[:0], c.data[:0], c.valid[:0]
	c.n, c.nulls = 0, 0
}

func (c *columnBuilder) append(v []byte) {
	if c.n&7 == 0 {
		c.valid = append(c.valid, 0)
	}
	if v == nil {
		c.nulls++
	} else {
		c.valid[c.n>>3] |= 1 << (c.n & 7)
	}
	c.n++
	c.data = append(c.data, v...)
	c.off = le.AppendUint32(c.off, uint32(len(c.data)))
}

func (c *columnBuilder) bitmap() []byte {
	if c.nulls == 0 {
		return nil
	}
	return c.valid
}

// sizes are the lengths of the buffers that encode will write.
func (b *Builder) sizes() [numBufs]int {
	s := [numBufs]int{
		bufPosition:           len(b.position),
		bufTimestamp:          len(b.timestamp),
		bufStream:             len(b.stream),
		bufKeyOffsets:         4 + len(b.key.off),
		bufKeys:               len(b.key.data),
		bufValueOffsets:       4 + len(b.value.off),
		bufValues:             len(b.value.data),
		bufHeaderOffsets:      4 + len(b.headerOff),
		bufHeaderNames:        len(b.headerName),
		bufHeaderValueOffsets: 4 + len(b.headerValue.off),
		bufHeaderValues:       len(b.headerValue.data),
		bufKeyValid:           len(b.key.bitmap()),
		bufValueValid:         len(b.value.bitmap()),
		bufHeaderValueValid:   len(b.headerValue.bitmap()),
		bufStreamDict:         8 + 16*len(b.streams.list) + b.streams.strings,
		bufNameDict:           8 + 4*len(b.names.list) + b.names.strings,
	}
	if b.anyKind {
		s[bufTimestampKind] = b.n
	}
	return s
}

// encode writes the frame into dst, which has its length and a header of
// zeros.
func (b *Builder) encode(dst []byte) {
	sizes := b.sizes()
	at := headerLen
	for i, size := range sizes {
		entry := dst[atTable+8*i:]
		le.PutUint32(entry, uint32(at))
		le.PutUint32(entry[4:], uint32(size))
		end := at + size
		next := alignUp(end)
		b.fill(i, dst[at:end])
		clear(dst[end:next])
		at = next
	}
	le.PutUint32(dst[atMagic:], magic)
	le.PutUint16(dst[atVersion:], version)
	le.PutUint32(dst[atRecords:], uint32(b.n))
	le.PutUint32(dst[atHeaders:], uint32(b.headers))
	le.PutUint64(dst[atTotalLen:], uint64(len(dst)))
	le.PutUint32(dst[atNumBufs:], numBufs)
	le.PutUint32(dst[atCRC:], headerCRC(dst))
}

// fill writes buffer i, which has the length that sizes told.
func (b *Builder) fill(i int, dst []byte) {
	switch i {
	case bufPosition:
		copy(dst, b.position)
	case bufTimestamp:
		copy(dst, b.timestamp)
	case bufStream:
		copy(dst, b.stream)
	case bufKeyOffsets:
		fillOffsets(dst, b.key.off)
	case bufKeys:
		copy(dst, b.key.data)
	case bufValueOffsets:
		fillOffsets(dst, b.value.off)
	case bufValues:
		copy(dst, b.value.data)
	case bufHeaderOffsets:
		fillOffsets(dst, b.headerOff)
	case bufHeaderNames:
		copy(dst, b.headerName)
	case bufHeaderValueOffsets:
		fillOffsets(dst, b.headerValue.off)
	case bufHeaderValues:
		copy(dst, b.headerValue.data)
	case bufKeyValid:
		copy(dst, b.key.bitmap())
	case bufValueValid:
		copy(dst, b.value.bitmap())
	case bufHeaderValueValid:
		copy(dst, b.headerValue.bitmap())
	case bufStreamDict:
		b.streams.fill(dst)
	case bufNameDict:
		b.names.fill(dst)
	case bufTimestampKind:
		copy(dst, b.kind)
	}
}

// fillOffsets puts the leading 0 before off.
func fillOffsets(dst, off []byte) {
	le.PutUint32(dst, 0)
	copy(dst[4:], off)
}
