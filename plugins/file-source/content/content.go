// Package content reads a file's content as a stream of bytes, whatever the
// file is compressed with.
package content

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var (
	// ErrShort: the content ends before the position that was asked for.
	ErrShort = errors.New("the content ends before that")
	// ErrCut: a compressed content breaks off. More may come, if the file is
	// still being written.
	ErrCut = errors.New("the compressed content breaks off")
	// ErrCorrupt: a compressed content cannot be expanded.
	ErrCorrupt = errors.New("the compressed content is damaged, or is none")
)

// Reader is an open file. Positions are offsets in the content: of a
// compressed file, in what it expands to. Not safe for concurrent use.
type Reader struct {
	file   *os.File
	in     io.Reader
	expand expander // nil: the file is not compressed
	at     int64
	failed error // of an expander, which must not be asked again then
	begin  []byte
}

// beginning is how many bytes of a file Rewritten looks at.
const beginning = 4 << 10

// Open opens the file at path. The suffix of name, which may be another one
// than it has now, says what it is compressed with: .gz, .zst, or nothing.
func Open(path, name string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: f, in: f}
	if r.begin, err = r.readBeginning(beginning); err != nil {
		r.Close()
		return nil, err
	}
	if make := expanders[suffix(name)]; make != nil {
		r.expand = make()
		r.in = r.expand
		err = r.rewind()
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func suffix(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i:]
	}
	return ""
}

// Compressed reports whether a file of that name is.
func Compressed(name string) bool { return expanders[suffix(name)] != nil }

func (r *Reader) readBeginning(n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := r.file.ReadAt(b, 0)
	if err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// Rewritten reports whether the file does not begin any more as it did when it
// was opened: it was cut, and what is read of it now is something else.
func (r *Reader) Rewritten() bool {
	now, err := r.readBeginning(len(r.begin))
	return err != nil || !bytes.Equal(now, r.begin)
}

// File is the open file itself, for Stat.
func (r *Reader) File() *os.File { return r.file }

// Compressed reports whether positions are not those of the file.
func (r *Reader) Compressed() bool { return r.expand != nil }

// Position is where the next Read begins.
func (r *Reader) Position() int64 { return r.at }

// Read implements io.Reader. What is wrong with a compressed content is
// ErrCut or ErrCorrupt.
func (r *Reader) Read(b []byte) (int, error) {
	if r.failed != nil {
		return 0, r.failed
	}
	n, err := r.in.Read(b)
	r.at += int64(n)
	if r.expand != nil {
		err = judge(err)
		r.failed = err
	}
	return n, err
}

// judge tells a damaged content from a file that cannot be read.
func judge(err error) error {
	var path *os.PathError
	switch {
	case err == nil, err == io.EOF, errors.As(err, &path):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrCut
	}
	return fmt.Errorf("%w: %v", ErrCorrupt, err)
}

// SeekTo goes to a position. A compressed content is expanded up to there.
func (r *Reader) SeekTo(ctx context.Context, position int64) error {
	if r.expand == nil {
		return r.seekPlain(position)
	}
	if position < r.at || r.failed != nil {
		if err := r.rewind(); err != nil {
			return err
		}
	}
	return r.discard(ctx, position)
}

func (r *Reader) seekPlain(position int64) error {
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

// rewind begins a compressed content again.
func (r *Reader) rewind() error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r.at, r.failed = 0, nil
	return r.expand.reset(r.file)
}

func (r *Reader) discard(ctx context.Context, position int64) error {
	buf := make([]byte, 64<<10)
	for r.at < position {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.Read(buf[:min(int64(len(buf)), position-r.at)])
		if n == 0 && err == io.EOF {
			return fmt.Errorf("%w: it has %d bytes", ErrShort, r.at)
		}
		if n == 0 && err != nil {
			return err
		}
	}
	return nil
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.expand != nil {
		r.expand.close()
	}
	return r.file.Close()
}
