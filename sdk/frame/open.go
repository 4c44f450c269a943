package frame

import (
	"errors"
	"fmt"
)

// Open validates b and returns a view of it. It keeps b, which must not
// change while the view is used. Every rule of docs/frame.md is checked, in
// one pass over the offsets: what Open accepts can be read without a further
// check. It allocates for the two dictionaries only, in proportion to their
// bytes. The address of b may have any alignment.
func Open(b []byte) (View, error) {
	h, err := openHeader(b)
	if err != nil {
		return View{}, fmt.Errorf("open frame: %w", err)
	}
	bufs, err := h.buffers(b)
	if err != nil {
		return View{}, fmt.Errorf("open frame: %w", err)
	}
	f, err := openBody(h, &bufs)
	if err != nil {
		return View{}, fmt.Errorf("open frame: %w", err)
	}
	f.b = b
	return View{f}, nil
}

type header struct {
	records, headers, numBufs int
}

func openHeader(b []byte) (header, error) {
	if len(b) < headerLen {
		return header{}, fmt.Errorf("%d bytes, fewer than a header's %d", len(b), headerLen)
	}
	if m := le.Uint32(b[atMagic:]); m != magic {
		return header{}, fmt.Errorf("magic is %#x, not TWC1", m)
	}
	if v := le.Uint16(b[atVersion:]); v != version {
		return header{}, fmt.Errorf("version is %d; this reader knows %d", v, version)
	}
	if got, want := le.Uint32(b[atCRC:]), headerCRC(b); got != want {
		return header{}, fmt.Errorf("header crc is %08x, computed %08x", got, want)
	}
	if f := le.Uint16(b[atFlags:]) & mustUnderstand &^ knownFlags; f != 0 {
		return header{}, fmt.Errorf("flags %#x are not known to this reader", f)
	}
	t := le.Uint64(b[atTotalLen:])
	if t != uint64(len(b)) {
		return header{}, fmt.Errorf("total length is %d, of %d bytes", t, len(b))
	}
	if err := checkSize(t); err != nil {
		return header{}, err
	}
	return openCounts(b)
}

func openCounts(b []byte) (header, error) {
	if c, crc := le.Uint32(b[atBodyCodec:]), le.Uint32(b[atBodyCRC:]); c != 0 || crc != 0 {
		return header{}, fmt.Errorf("body codec %d and body crc %08x; version 1 has neither", c, crc)
	}
	nbuf := le.Uint32(b[atNumBufs:])
	if nbuf < numBufs || nbuf > maxBufs {
		return header{}, fmt.Errorf("%d buffers, not %d to %d", nbuf, numBufs, maxBufs)
	}
	if !allZero(b[atTable+8*nbuf : atBodyCodec]) {
		return header{}, errors.New("reserved bytes of the header are not zero")
	}
	n, hs := le.Uint32(b[atRecords:]), le.Uint32(b[atHeaders:])
	if int64(n) > int64(len(b)/8) || int64(hs) > int64(len(b)/4) {
		return header{}, fmt.Errorf("%d records and %d headers do not fit in %d bytes", n, hs, len(b))
	}
	return header{int(n), int(hs), int(nbuf)}, nil
}

// buffers finds the buffers and checks that each begins where the last one
// ended, rounded up to 64, and that there are zeros between them. Buffers
// beyond those of version 1 are checked and left out.
func (h header) buffers(b []byte) (bufs [numBufs][]byte, err error) {
	at := headerLen
	for i := range h.numBufs {
		entry := b[atTable+8*i:]
		off, size := le.Uint32(entry), le.Uint32(entry[4:])
		if uint64(off) != uint64(at) {
			return bufs, fmt.Errorf("buffer %d is at %d, not at %d", i, off, at)
		}
		if uint64(size) > uint64(len(b)-at) {
			return bufs, fmt.Errorf("buffer %d of %d bytes at %d passes the frame's end, %d", i, size, off, len(b))
		}
		end := at + int(size)
		if i < numBufs {
			bufs[i] = b[at:end:end]
		}
		at = alignUp(end)
		if at > len(b) || !allZero(b[end:at]) {
			return bufs, fmt.Errorf("buffer %d is not padded with zeros up to %d", i, at)
		}
	}
	if at != len(b) {
		return bufs, fmt.Errorf("the buffers end at %d, the frame at %d", at, len(b))
	}
	return bufs, nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
