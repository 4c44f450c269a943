package source

import (
	"errors"
	"io"
	"slices"

	"github.com/twg-io/twg/plugins/file-source/content"
)

// chunk is how much is read at once. A window that had to grow for a large
// record is given back.
const (
	chunk     = 256 << 10
	keepBytes = 1 << 20
)

// errTooLong: no record ends within the largest size.
var errTooLong = errors.New("the record is longer than max_record_bytes")

// window is the part of a content that is being looked at.
type window struct {
	in     *content.Reader
	goal   int64 // nothing is read beyond it
	buf    []byte
	lo, hi int
}

func (w *window) reset(in *content.Reader, goal int64) {
	w.in, w.goal, w.lo, w.hi = in, goal, 0, 0
	if cap(w.buf) > keepBytes {
		w.buf = nil
	}
}

func (w *window) bytes() []byte { return w.buf[w.lo:w.hi] }

func (w *window) take(n int) { w.lo += n }

// fill reads more: as much again as there is, at least, so that a long record
// is not looked through again and again. io.EOF: there is no more before the
// goal. most bounds what a record may take.
func (w *window) fill(most int) error {
	if w.hi-w.lo > most {
		return errTooLong
	}
	w.hi, w.lo = copy(w.buf, w.buf[w.lo:w.hi]), 0
	if w.hi == len(w.buf) {
		w.buf = slices.Grow(w.buf, max(chunk, len(w.buf)))
		w.buf = w.buf[:cap(w.buf)]
	}
	for before := w.hi; w.hi < min(2*before+1, len(w.buf)); {
		room := min(int64(len(w.buf)-w.hi), w.goal-w.in.Position())
		if room <= 0 {
			return w.ended(before, io.EOF)
		}
		n, err := w.in.Read(w.buf[w.hi : w.hi+int(room)])
		w.hi += n
		if err != nil {
			return w.ended(before, err)
		}
	}
	return nil
}

// ended keeps an error for the next fill where something was read: it comes
// again.
func (w *window) ended(before int, err error) error {
	if w.hi > before {
		return nil
	}
	return err
}
