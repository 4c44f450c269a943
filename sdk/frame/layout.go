package frame

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The header. Integers are little-endian throughout the frame.
const (
	headerLen = 256
	align     = 64
	maxLen    = 1<<31 - 1

	magic   = 0x31435754 // "TWC1"
	version = 1

	atMagic    = 0
	atVersion  = 4
	atFlags    = 6
	atRecords  = 8
	atHeaders  = 12
	atTotalLen = 16
	atCRC      = 24
	atNumBufs  = 28
	atTable    = 32

	// The two reserved fields stand at the header's end, so that the buffer
	// table may grow up to them.
	atBodyCodec = 248
	atBodyCRC   = 252

	// A flag of the low byte changes what a reader must do; one of the high
	// byte may be ignored. Version 1 knows none.
	mustUnderstand = 0x00ff
	knownFlags     = 0
)

// The buffers, in their order in the frame.
const (
	bufPosition = iota
	bufTimestamp
	bufStream
	bufKeyOffsets
	bufKeys
	bufValueOffsets
	bufValues
	bufHeaderOffsets
	bufHeaderNames
	bufHeaderValueOffsets
	bufHeaderValues
	bufKeyValid
	bufValueValid
	bufHeaderValueValid
	bufStreamDict
	bufNameDict
	bufTimestampKind

	numBufs = 17
	maxBufs = (atBodyCodec - atTable) / 8
)

var bufNames = [numBufs]string{
	"position", "timestamp", "stream index", "key offsets", "keys",
	"value offsets", "values", "header list offsets", "header name index",
	"header value offsets", "header values", "key validity",
	"value validity", "header value validity", "stream dictionary",
	"header name dictionary", "timestamp kind",
}

var le = binary.LittleEndian

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// noCRC stands for the field of the header's crc; never written to.
var noCRC = make([]byte, 4)

// headerCRC is the CRC-32C of the header as if its own field were zero.
func headerCRC(h []byte) uint32 {
	c := crc32.Update(0, castagnoli, h[:atCRC])
	c = crc32.Update(c, castagnoli, noCRC)
	return crc32.Update(c, castagnoli, h[atCRC+4:headerLen])
}

func checkSize(n uint64) error {
	if n > maxLen {
		return fmt.Errorf("%d bytes, more than a frame's %d: send fewer records a frame", n, maxLen)
	}
	return nil
}

func alignUp(n int) int { return (n + align - 1) &^ (align - 1) }

func bitmapLen(n int) int { return (n + 7) / 8 }
