package frame

import (
	"slices"
	"strings"
	"testing"
)

// bad is one thing that is wrong with a frame that is right otherwise. The
// header's crc is made anew after change, unless the case is about it.
type bad struct {
	name    string
	want    string // in the error
	change  func(b []byte) []byte
	keepCRC bool
}

func put32(at int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { le.PutUint32(b[at:], v); return b }
}

// inBuf writes v at byte k of a buffer.
func inBuf(buf, k int, v uint32) func([]byte) []byte {
	return func(b []byte) []byte { le.PutUint32(b[bufAt(b, buf)+k:], v); return b }
}

func byteInBuf(buf, k int, v byte) func([]byte) []byte {
	return func(b []byte) []byte { b[bufAt(b, buf)+k] = v; return b }
}

func bufAt(b []byte, buf int) int  { return int(le.Uint32(b[atTable+8*buf:])) }
func bufLen(b []byte, buf int) int { return int(le.Uint32(b[atTable+8*buf+4:])) }

// resized changes the length of a buffer in the table only.
func resized(buf, by int) func([]byte) []byte {
	return func(b []byte) []byte {
		le.PutUint32(b[atTable+8*buf+4:], uint32(bufLen(b, buf)+by))
		return b
	}
}

func cut(n int) func([]byte) []byte {
	return func(b []byte) []byte {
		b = b[:n]
		if n >= headerLen {
			le.PutUint64(b[atTotalLen:], uint64(n))
		}
		return b
	}
}

// badFrames start from the frame of rows: 4 records, 5 headers, 3 names, 2
// streams; every optional buffer is there.
var badFrames = []bad{
	{name: "empty", want: "0 bytes", change: cut(0)},
	{name: "header-cut", want: "fewer than a header", change: cut(255)},
	{name: "body-cut", want: "passes the frame's end", change: cut(256)},
	{name: "last-padding-cut", want: "not padded", change: func(b []byte) []byte { return cut(len(b) - 1)(b) }},
	{name: "trailing-bytes", want: "the buffers end at", change: func(b []byte) []byte {
		b = append(b, make([]byte, 64)...)
		return cut(len(b))(b)
	}},
	{name: "magic", want: "magic", change: put32(atMagic, 0x32435754)},
	{name: "version-2", want: "version is 2", change: func(b []byte) []byte { b[atVersion] = 2; return b }},
	{name: "flag-to-be-understood", want: "flags 0x80", change: func(b []byte) []byte { b[atFlags] = 0x80; return b }},
	{name: "header-crc", want: "header crc", change: put32(atCRC, 1), keepCRC: true},
	{name: "header-crc-of-other-header", want: "header crc", change: put32(atRecords, 3), keepCRC: true},
	{name: "total-length-short", want: "total length", change: func(b []byte) []byte { b[atTotalLen]--; return b }},
	{name: "total-length-2-to-32-more", want: "total length", change: func(b []byte) []byte { b[atTotalLen+4] = 1; return b }},
	{name: "body-codec", want: "body codec 1", change: put32(atBodyCodec, 1)},
	{name: "body-crc", want: "body crc 00000001", change: put32(atBodyCRC, 1)},
	{name: "reserved-header-bytes", want: "reserved", change: put32(atBodyCodec-4, 1)},
	{name: "16-buffers", want: "16 buffers", change: put32(atNumBufs, 16)},
	{name: "28-buffers", want: "28 buffers", change: put32(atNumBufs, 28)},
	{name: "2-to-32-buffers", want: "buffers, not", change: put32(atNumBufs, 1<<32-1)},
	{name: "more-records-than-bytes", want: "do not fit", change: put32(atRecords, 1<<31)},
	{name: "one-record-more", want: "buffer 0 (position)", change: put32(atRecords, 5)},
	{name: "more-headers-than-bytes", want: "do not fit", change: put32(atHeaders, 1<<32-1)},
	{name: "one-header-more", want: "buffer 8 (header name index)", change: put32(atHeaders, 6)},
	{name: "buffer-not-at-64", want: "buffer 1 is at", change: put32(atTable+8, 321)},
	{name: "buffer-skips-64", want: "buffer 1 is at", change: put32(atTable+8, 384)},
	{name: "buffers-overlap", want: "buffer 1 is at 256", change: put32(atTable+8, 256)},
	{name: "buffer-passes-end", want: "passes the frame's end", change: put32(atTable+4, 1<<32-1)},
	{name: "padding", want: "not padded with zeros", change: byteInBuf(bufKeys, 1, 'x')},
	{name: "position-buffer-short", want: "buffer 0", change: resized(bufPosition, -8)},
	{name: "timestamp-buffer-short", want: "buffer 1", change: resized(bufTimestamp, -8)},
	{name: "stream-buffer-long", want: "buffer 2", change: resized(bufStream, 4)},
	{name: "key-offsets-short", want: "buffer 3", change: resized(bufKeyOffsets, -4)},
	{name: "value-offsets-short", want: "buffer 5", change: resized(bufValueOffsets, -4)},
	{name: "bitmap-long", want: "buffer 12", change: resized(bufValueValid, 1)},
	{name: "timestamp-kind-short", want: "buffer 16", change: func(b []byte) []byte {
		return resized(bufTimestampKind, -3)(byteInBuf(bufTimestampKind, 1, 0)(b))
	}},
	{name: "stream-index", want: "entry 2 is 2, of a dictionary of 2", change: inBuf(bufStream, 8, 2)},
	{name: "stream-index-negative", want: "entry 2 is -1", change: inBuf(bufStream, 8, 1<<32-1)},
	{name: "key-offsets-start", want: "starts at 1", change: inBuf(bufKeyOffsets, 0, 1)},
	{name: "value-offsets-fall", want: "entry 2 is 0, less than 1", change: inBuf(bufValueOffsets, 8, 0)},
	{name: "value-offsets-negative", want: "less than 4294967295", change: inBuf(bufValueOffsets, 8, 1<<32-1)},
	{name: "value-offsets-end-early", want: "ends at 12, not at 13", change: inBuf(bufValueOffsets, 16, 12)},
	{name: "value-offsets-end-late", want: "ends at 14, not at 13", change: inBuf(bufValueOffsets, 16, 14)},
	{name: "header-offsets-end", want: "ends at 4, not at 5", change: inBuf(bufHeaderOffsets, 16, 4)},
	{name: "header-name-index", want: "of a dictionary of 3", change: inBuf(bufHeaderNames, 0, 3)},
	{name: "header-value-offsets-fall", want: "buffer 9", change: inBuf(bufHeaderValueOffsets, 4, 9)},
	{name: "key-bits-beyond-last", want: "bits beyond", change: byteInBuf(bufKeyValid, 0, 0b10101)},
	{name: "header-value-bits-beyond-last", want: "bits beyond", change: byteInBuf(bufHeaderValueValid, 0, 0b101101)},
	{name: "null-with-bytes", want: "entry 0 is null but has bytes", change: byteInBuf(bufValueValid, 0, 0b1010)},
	{name: "timestamp-kind-3", want: "is 3, which is no kind", change: byteInBuf(bufTimestampKind, 1, 3)},
	{name: "stream-dictionary-3-bytes", want: "3 bytes hold no count", change: func(b []byte) []byte {
		return resized(bufStreamDict, 3-bufLen(b, bufStreamDict))(zeroed(b, bufStreamDict))
	}},
	{name: "stream-dictionary-count", want: "too few", change: inBuf(bufStreamDict, 0, 1<<32-1)},
	{name: "stream-dictionary-offsets", want: "buffer 14", change: inBuf(bufStreamDict, 16, 100)},
	{name: "stream-twice", want: "streams 0 and 1 are the same", change: sameStreams},
	{name: "name-dictionary-count", want: "too few", change: inBuf(bufNameDict, 0, 1<<30)},
	{name: "name-dictionary-end", want: "buffer 15", change: inBuf(bufNameDict, 16, 1)},
}

func zeroed(b []byte, buf int) []byte {
	clear(b[bufAt(b, buf):][:bufLen(b, buf)])
	return b
}

// sameStreams empties all strings and partitions of the two streams.
func sameStreams(b []byte) []byte {
	b = zeroed(b, bufStreamDict)
	b = inBuf(bufStreamDict, 0, 2)(b)
	return resized(bufStreamDict, 40-bufLen(b, bufStreamDict))(b)
}

func (c bad) frame(t testing.TB) []byte {
	var b Builder
	enc := c.change(slices.Clone(build(t, &b, rows())))
	if len(enc) >= headerLen && !c.keepCRC {
		le.PutUint32(enc[atCRC:], headerCRC(enc))
	}
	return enc
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range badFrames {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(c.frame(t))
			if err == nil {
				t.Fatal("was opened")
			}
			if !strings.HasPrefix(err.Error(), "open frame: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q does not tell %q", err, c.want)
			}
		})
	}
}

func TestOpenTakesWhatMayBeIgnored(t *testing.T) {
	var b Builder
	for name, change := range map[string]func([]byte) []byte{
		"flag of the high byte": func(b []byte) []byte { b[atFlags+1] = 0xff; return b },
		"a buffer more":         oneBufferMore,
	} {
		enc := change(slices.Clone(build(t, &b, rows())))
		b.Reset()
		le.PutUint32(enc[atCRC:], headerCRC(enc))
		if v, err := Open(enc); err != nil || v.NumRecords() != 4 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func oneBufferMore(b []byte) []byte {
	le.PutUint32(b[atNumBufs:], numBufs+1)
	le.PutUint32(b[atTable+8*numBufs:], uint32(len(b)))
	le.PutUint32(b[atTable+8*numBufs+4:], 3)
	b = append(b, "new"...)
	b = append(b, make([]byte, 61)...)
	le.PutUint64(b[atTotalLen:], uint64(len(b)))
	return b
}

func TestEncodeRefuses(t *testing.T) {
	for want, f := range map[string]func(*Builder){
		"row 0: stream 0":               func(b *Builder) { b.Append(0, &Record{}) },
		"row 0: stream -1":              func(b *Builder) { b.Append(-1, &Record{}) },
		"row 0: 3 is no timestamp kind": func(b *Builder) { b.Append(b.Stream(orders), &Record{TimestampKind: 3}) },
	} {
		var b Builder
		f(&b)
		if _, err := b.Encode(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not tell %q", err, want)
		}
		b.Reset()
		if _, err := b.Encode(nil); err != nil {
			t.Errorf("after Reset: %v", err)
		}
	}
}
