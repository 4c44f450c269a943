package source

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
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

// fill reads more. io.EOF: there is no more before the goal. most bounds what
// the window holds, about.
func (w *window) fill(most int) error {
	if w.in.Position() >= w.goal {
		return io.EOF
	}
	if w.hi-w.lo > most {
		return errTooLong
	}
	w.hi, w.lo = copy(w.buf, w.buf[w.lo:w.hi]), 0
	if w.hi == len(w.buf) {
		w.buf = slices.Grow(w.buf, max(chunk, len(w.buf)))
		w.buf = w.buf[:cap(w.buf)]
	}
	room := min(int64(len(w.buf)-w.hi), w.goal-w.in.Position())
	n, err := w.in.Read(w.buf[w.hi : w.hi+int(room)])
	w.hi += n
	if n > 0 {
		return nil // an error comes again
	}
	return err
}

// records takes records up to the goal, or the content's end; more: it has
// stopped before, so that others have their turn.
func (p *pass) records(ctx context.Context) (more bool, err error) {
	var rec frame.Record
	for p.out.next()-p.out.tn.from < quantum {
		r, ok := p.split.Next(p.bytes())
		if !ok {
			if err := p.more(ctx); err == io.EOF {
				return false, p.last(ctx)
			} else if err != nil {
				return false, err
			}
			continue
		}
		p.take(r.Len)
		if r.Skip {
			p.out.skip(r.Len)
			continue
		}
		rec = frame.Record{Value: r.Value}
		if err := p.out.add(ctx, &rec, r.Len); err != nil {
			return false, err
		}
	}
	return true, nil
}

// more reads on, with credit.
func (p *pass) more(ctx context.Context) error {
	if _, err := p.events.WaitCredit(ctx); err != nil {
		return err
	}
	err := p.fill(p.limits.MaxRecordBytes)
	if errors.Is(err, errTooLong) {
		return sdk.Errorf(sdk.KindFatal, "read "+p.out.tn.path, "at position %d: the record is longer than max_record_bytes = %d; raise it, or repair the file under another name", p.out.next(), p.limits.MaxRecordBytes)
	}
	if err != nil && err != io.EOF {
		return unreadable(p.out.tn, p.out.next(), err)
	}
	return err
}

// last takes a last line without a newline, if none is waited for.
func (p *pass) last(ctx context.Context) error {
	if p.set.Follow || len(p.bytes()) == 0 {
		return nil
	}
	r, ok := p.split.Last(p.bytes())
	if !ok {
		return nil
	}
	p.take(r.Len)
	rec := frame.Record{Value: r.Value}
	return p.out.add(ctx, &rec, r.Len)
}
