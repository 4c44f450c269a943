// Package content reads a file's content as a stream of bytes, whatever the
// file is compressed with.
package content

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrShort: the content ends before the position that was asked for.
var ErrShort = errors.New("the content ends before that")

// Reader is an open file. Positions are offsets in the content: of a
// compressed file, in what it expands to. Not safe for concurrent use.
type Reader struct {
	file *os.File
	in   io.Reader
	at   int64
}

// Open opens the file at path.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Reader{file: f, in: f}, nil
}

// File is the open file itself, for Stat.
func (r *Reader) File() *os.File { return r.file }

// Position is where the next Read begins.
func (r *Reader) Position() int64 { return r.at }

// Read implements io.Reader.
func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.at += int64(n)
	return n, err
}

// SeekTo goes to a position.
func (r *Reader) SeekTo(position int64) error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if position > info.Size() {
		return fmt.Errorf("%w: it has %d bytes", ErrShort, info.Size())
	}
	if _, err := r.file.Seek(position, io.SeekStart); err != nil {
		return err
	}
	r.at = position
	return nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }
