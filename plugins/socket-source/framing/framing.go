// Package framing finds records in the bytes that a peer sends.
package framing

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// TooLargeError is a record that is larger than allowed. Nothing behind it can
// be read.
type TooLargeError struct {
	// Bytes is what the record has; of a line, what is there of it so far.
	Bytes int64
	Most  int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("a record of %d bytes or more: the limit is %d", e.Bytes, e.Most)
}

// Decoder finds the record that begins at the first byte of b. n is how many
// bytes it takes up; 0: b does not hold all of it. The record lies in b. An
// error is a *TooLargeError.
type Decoder interface {
	Next(b []byte) (record []byte, n int, err error)
}

// Lines end with a newline. It is not part of the record, and nothing else is
// taken away.
type Lines struct{ Most int }

// Next implements Decoder.
func (l Lines) Next(b []byte) ([]byte, int, error) {
	end := bytes.IndexByte(b, '\n')
	switch {
	case end > l.Most:
		return nil, 0, &TooLargeError{Bytes: int64(end), Most: l.Most}
	case end < 0 && len(b) > l.Most:
		return nil, 0, &TooLargeError{Bytes: int64(len(b)), Most: l.Most}
	case end < 0:
		return nil, 0, nil
	}
	return b[:end], end + 1, nil
}

// lengthBytes is what a length takes up.
const lengthBytes = 4

// Length is a length of four bytes, big-endian, and as many bytes.
type Length struct{ Most int }

// Next implements Decoder.
func (l Length) Next(b []byte) ([]byte, int, error) {
	if len(b) < lengthBytes {
		return nil, 0, nil
	}
	size := int64(binary.BigEndian.Uint32(b))
	switch {
	case size > int64(l.Most):
		return nil, 0, &TooLargeError{Bytes: size, Most: l.Most}
	case int64(len(b)-lengthBytes) < size:
		return nil, 0, nil
	}
	n := lengthBytes + int(size)
	return b[lengthBytes:n:n], n, nil
}
