package recordbatch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// ErrTooLarge says that a batch expands to more than the limit.
var ErrTooLarge = errors.New("the batch expands to more than the limit")

// Decompressor expands batches, each into the same memory. Not safe for
// concurrent use.
type Decompressor struct {
	max  int
	buf  []byte
	src  bytes.Reader
	zstd *zstd.Decoder
	gzip *gzip.Reader
	lz4  *lz4.Reader
}

// NewDecompressor returns a decompressor for batches that expand to at most
// max bytes.
func NewDecompressor(max int) *Decompressor { return &Decompressor{max: max} }

// Close stops what the decompressor has started.
func (d *Decompressor) Close() {
	if d.zstd != nil {
		d.zstd.Close()
	}
}

// Expand returns b's payload decompressed. It is good until the next call.
func (d *Decompressor) Expand(b *Batch) ([]byte, error) {
	if b.Codec() == 0 {
		return b.Payload, nil
	}
	out, err := d.expand(b)
	if err != nil {
		return nil, fmt.Errorf("decompress batch at offset %d: %w", b.First, err)
	}
	d.buf = out[:0]
	return out, nil
}

func (d *Decompressor) expand(b *Batch) ([]byte, error) {
	switch b.Codec() {
	case 1:
		return d.expandGzip(b.Payload)
	case 2:
		return d.expandSnappy(b.Payload)
	case 3:
		return d.expandLZ4(b.Payload)
	case 4:
		return d.expandZstd(b.Payload)
	}
	return nil, fmt.Errorf("compression %d is not known", b.Codec())
}

func (d *Decompressor) expandZstd(src []byte) ([]byte, error) {
	if d.zstd == nil {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(d.max)))
		if err != nil {
			return nil, err
		}
		d.zstd = z
	}
	out, err := d.zstd.DecodeAll(src, d.buf[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) {
		err = fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return out, err
}

func (d *Decompressor) expandGzip(src []byte) (_ []byte, err error) {
	d.src.Reset(src)
	if d.gzip == nil {
		d.gzip, err = gzip.NewReader(&d.src)
	} else {
		err = d.gzip.Reset(&d.src)
	}
	if err != nil {
		d.gzip = nil
		return nil, err
	}
	return d.readAll(d.gzip)
}

func (d *Decompressor) expandLZ4(src []byte) ([]byte, error) {
	d.src.Reset(src)
	if d.lz4 == nil {
		d.lz4 = lz4.NewReader(nil)
	}
	d.lz4.Reset(&d.src)
	return d.readAll(d.lz4)
}

func (d *Decompressor) readAll(r io.Reader) ([]byte, error) {
	out := bytes.NewBuffer(d.buf[:0])
	n, err := out.ReadFrom(io.LimitReader(r, int64(d.max)+1))
	if err == nil && n > int64(d.max) {
		err = ErrTooLarge
	}
	return out.Bytes(), err
}

// xerial is how the Java library begins a stream of snappy blocks, ahead of
// two version numbers; other clients write one bare block.
var xerial = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const xerialHeaderLen = 16

func (d *Decompressor) expandSnappy(src []byte) ([]byte, error) {
	if len(src) < xerialHeaderLen || !bytes.HasPrefix(src, xerial) {
		return d.snappyBlock(d.buf[:0], src)
	}
	out := d.buf[:0]
	for src = src[xerialHeaderLen:]; len(src) > 0; {
		if len(src) < 4 {
			return nil, io.ErrUnexpectedEOF
		}
		n := int(binary.BigEndian.Uint32(src))
		if src = src[4:]; n < 0 || n > len(src) {
			return nil, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = d.snappyBlock(out, src[:n]); err != nil {
			return nil, err
		}
		src = src[n:]
	}
	return out, nil
}

// snappyBlock appends the block src, expanded, to out.
func (d *Decompressor) snappyBlock(out, src []byte) ([]byte, error) {
	n, err := s2.DecodedLen(src)
	if err != nil {
		return nil, err
	}
	if n > d.max-len(out) {
		return nil, ErrTooLarge
	}
	// s2 takes a compressed byte to stand for no more than some tens of
	// bytes only in valid input: check before growing.
	if n > 64*len(src)+64 {
		return nil, fmt.Errorf("%d bytes cannot expand to %d", len(src), n)
	}
	out = slices.Grow(out, n)
	if _, err := s2.Decode(out[len(out):len(out)+n], src); err != nil {
		return nil, err
	}
	return out[:len(out)+n], nil
}
