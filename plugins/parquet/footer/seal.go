package footer

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A Parquet file has no checksum of its footer, and the footer is the log: a
// flipped bit in a span would be believed. So the footer holds its own
// crc32c, taken with the eight digits of the checksum being zeros. A second
// one covers the body, all that lies before the footer, for whoever wants to
// check a file without decoding its pages.

const (
	zeros8  = "00000000"
	zeros16 = "0000000000000000"
	trailer = 8 // footer length and magic
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum continues the body's checksum.
func Sum(crc uint32, b []byte) uint32 { return crc32.Update(crc, castagnoli, b) }

// Seal fills in the checksums. tail is the end of a file, from some place
// before the footer on; bodyBytes and bodyCRC are of what came before tail.
func Seal(tail []byte, bodyBytes int64, bodyCRC uint32) error {
	at, err := footerStart(tail, int64(len(tail)))
	if err != nil {
		return err
	}
	body, foot := tail[:at], tail[at:]
	err = fill(foot, keyBodyBytes, fmt.Sprintf("%016d", bodyBytes+int64(len(body))))
	if err == nil {
		err = fill(foot, keyBodyCRC, fmt.Sprintf("%08x", Sum(bodyCRC, body)))
	}
	if err == nil {
		err = fill(foot, keyFooterCRC, fmt.Sprintf("%08x", Sum(0, foot)))
	}
	return err
}

// fill puts a value of fixed length where key's placeholder stands.
func fill(foot []byte, key, value string) error {
	slot, err := slotOf(foot, key, len(value))
	if err != nil {
		return err
	}
	copy(slot, value)
	return nil
}

// slotOf finds the bytes of key's value. In the compact protocol key is
// followed by the header of the value's field (0x18) and the value's length.
// The last occurrence is ours: what follows it in the footer is JSON of ours,
// in which these bytes cannot stand.
func slotOf(foot []byte, key string, n int) ([]byte, error) {
	mark := append([]byte(key), 0x18, byte(n))
	at := bytes.LastIndex(foot, mark)
	if at < 0 || at+len(mark)+n > len(foot) {
		return nil, fmt.Errorf("the footer has no %s", key)
	}
	at += len(mark)
	return foot[at : at+n : at+n], nil
}

// footerStart reads the footer's length off the end of a file of size bytes.
func footerStart(end []byte, size int64) (int64, error) {
	if len(end) < trailer || string(end[len(end)-4:]) != "PAR1" {
		return 0, fmt.Errorf("it does not end as a Parquet file does: it is cut short or damaged")
	}
	n := int64(binary.LittleEndian.Uint32(end[len(end)-trailer:]))
	if n > size-trailer-4 {
		return 0, fmt.Errorf("its footer length (%d bytes) is more than the file has: it is damaged", n)
	}
	return size - trailer - n, nil
}

// Read reads the footer of a file of size bytes. An error says what is wrong
// with the file, not which file it is.
func Read(r io.ReaderAt, size int64) (*Footer, error) {
	foot, err := readRaw(r, size)
	if err != nil {
		return nil, err
	}
	if err := verify(foot); err != nil {
		return nil, err
	}
	var meta format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), foot[:len(foot)-trailer], &meta); err != nil {
		return nil, fmt.Errorf("its footer cannot be decoded: %w", err)
	}
	values := map[string]string{}
	for _, kv := range meta.KeyValueMetadata {
		values[kv.Key] = kv.Value
	}
	f, err := decode(func(key string) (string, bool) { v, ok := values[key]; return v, ok })
	if err != nil {
		return nil, err
	}
	if v := values[keyBodyBytes]; v != fmt.Sprintf("%016d", size-int64(len(foot))) {
		return nil, fmt.Errorf("%s is %q and the file has %d bytes before its footer: it is damaged", keyBodyBytes, v, size-int64(len(foot)))
	}
	f.Rows = meta.NumRows
	return f, nil
}

// CheckBody reads all that lies before the footer of a file of size bytes and
// holds it against its checksum.
func CheckBody(r io.ReaderAt, size int64) error {
	foot, err := readRaw(r, size)
	if err != nil {
		return err
	}
	slot, err := slotOf(foot, keyBodyCRC, len(zeros8))
	if err != nil {
		return err
	}
	var crc uint32
	b := make([]byte, 256<<10)
	for at, end := int64(0), size-int64(len(foot)); at < end; at += int64(len(b)) {
		b = b[:min(int64(len(b)), end-at)]
		if err := readAt(r, b, at); err != nil {
			return err
		}
		crc = Sum(crc, b)
	}
	if got := fmt.Sprintf("%08x", crc); got != string(slot) {
		return fmt.Errorf("its pages are damaged: checksum %s, expected %s", got, slot)
	}
	return nil
}

// readRaw reads from the footer's start to the end of the file.
func readRaw(r io.ReaderAt, size int64) ([]byte, error) {
	end := make([]byte, min(size, 16<<10))
	if err := readAt(r, end, size-int64(len(end))); err != nil {
		return nil, err
	}
	start, err := footerStart(end, size)
	if err != nil {
		return nil, err
	}
	if have := size - int64(len(end)); start >= have {
		return end[start-have:], nil
	}
	all := make([]byte, size-start)
	return all, readAt(r, all, start)
}

// readAt reads exactly len(b) bytes.
func readAt(r io.ReaderAt, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		return fmt.Errorf("read %d bytes at %d: %w", len(b), off, err)
	}
	return nil
}

// verify checks the footer's checksum.
func verify(foot []byte) error {
	foot = bytes.Clone(foot)
	slot, err := slotOf(foot, keyFooterCRC, len(zeros8))
	if err != nil {
		return fmt.Errorf("it was not written by twg, or is damaged: %w", err)
	}
	want := string(slot)
	copy(slot, zeros8)
	if got := fmt.Sprintf("%08x", Sum(0, foot)); got != want {
		return fmt.Errorf("its footer is damaged: checksum %s, expected %s", got, want)
	}
	return nil
}
