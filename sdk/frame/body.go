package frame

import "fmt"

// openBody checks what the buffers hold.
func openBody(h header, bufs *[numBufs][]byte) (*fields, error) {
	if err := checkLengths(h, bufs); err != nil {
		return nil, err
	}
	f := &fields{
		n:           h.records,
		position:    bufs[bufPosition],
		timestamp:   bufs[bufTimestamp],
		stream:      bufs[bufStream],
		key:         column{bufs[bufKeyOffsets], bufs[bufKeys], bufs[bufKeyValid]},
		value:       column{bufs[bufValueOffsets], bufs[bufValues], bufs[bufValueValid]},
		headerOff:   bufs[bufHeaderOffsets],
		headerName:  bufs[bufHeaderNames],
		headerValue: column{bufs[bufHeaderValueOffsets], bufs[bufHeaderValues], bufs[bufHeaderValueValid]},
		kind:        bufs[bufTimestampKind],
	}
	if err := f.openDicts(bufs); err != nil {
		return nil, err
	}
	return f, f.check(h)
}

// checkLengths compares each buffer's length with the counts of records and
// headers, which are thereby bounded by the frame's length.
func checkLengths(h header, bufs *[numBufs][]byte) error {
	n, hs := h.records, h.headers
	for _, c := range []struct {
		buf, want int
		optional  bool
	}{
		{bufPosition, 8 * n, false},
		{bufTimestamp, 8 * n, false},
		{bufStream, 4 * n, false},
		{bufKeyOffsets, 4 * (n + 1), false},
		{bufValueOffsets, 4 * (n + 1), false},
		{bufHeaderOffsets, 4 * (n + 1), false},
		{bufHeaderNames, 4 * hs, false},
		{bufHeaderValueOffsets, 4 * (hs + 1), false},
		{bufKeyValid, bitmapLen(n), true},
		{bufValueValid, bitmapLen(n), true},
		{bufHeaderValueValid, bitmapLen(hs), true},
		{bufTimestampKind, n, true},
	} {
		if got := len(bufs[c.buf]); got != c.want && (got != 0 || !c.optional) {
			return bufErr(c.buf, fmt.Errorf("%d bytes, not %d, for %d records and %d headers", got, c.want, n, hs))
		}
	}
	return nil
}

func (f *fields) openDicts(bufs *[numBufs][]byte) (err error) {
	if f.streams, err = openStreams(bufs[bufStreamDict]); err != nil {
		return bufErr(bufStreamDict, err)
	}
	if f.names, err = openNames(bufs[bufNameDict]); err != nil {
		return bufErr(bufNameDict, err)
	}
	return nil
}

func (f *fields) check(h header) error {
	if err := checkIndices(f.stream, len(f.streams)); err != nil {
		return bufErr(bufStream, err)
	}
	if err := checkOffsets(f.key.off, len(f.key.data)); err != nil {
		return bufErr(bufKeyOffsets, err)
	}
	if err := checkOffsets(f.value.off, len(f.value.data)); err != nil {
		return bufErr(bufValueOffsets, err)
	}
	if err := f.key.checkValid(h.records); err != nil {
		return bufErr(bufKeyValid, err)
	}
	if err := f.value.checkValid(h.records); err != nil {
		return bufErr(bufValueValid, err)
	}
	for i, k := range f.kind {
		if k > uint8(TimestampAppend) {
			return bufErr(bufTimestampKind, fmt.Errorf("entry %d is %d, which is no kind", i, k))
		}
	}
	return f.checkHeaders(h)
}

func (f *fields) checkHeaders(h header) error {
	if err := checkOffsets(f.headerOff, h.headers); err != nil {
		return bufErr(bufHeaderOffsets, err)
	}
	if err := checkIndices(f.headerName, len(f.names)); err != nil {
		return bufErr(bufHeaderNames, err)
	}
	if err := checkOffsets(f.headerValue.off, len(f.headerValue.data)); err != nil {
		return bufErr(bufHeaderValueOffsets, err)
	}
	if err := f.headerValue.checkValid(h.headers); err != nil {
		return bufErr(bufHeaderValueValid, err)
	}
	return nil
}

func bufErr(buf int, err error) error {
	return fmt.Errorf("buffer %d (%s): %w", buf, bufNames[buf], err)
}
