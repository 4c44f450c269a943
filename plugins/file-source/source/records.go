package source

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/plugins/file-source/split"
	"github.com/twg-io/twg/sdk"
)

// records takes records up to the goal, or the content's end; more: it has
// stopped before, so that others have their turn.
func (p *pass) records(ctx context.Context) (more bool, err error) {
	for {
		r, ok := p.layout.split.Next(p.bytes())
		if !ok {
			if err := p.more(ctx); err == io.EOF {
				return false, p.rest(ctx)
			} else if err != nil {
				return false, err
			}
			continue
		}
		if p.out.next()-p.out.tn.from >= quantum && !p.in.Compressed() {
			return true, nil
		}
		p.take(r.Len)
		if err := p.record(ctx, r); err != nil {
			return false, err
		}
	}
}

func (p *pass) record(ctx context.Context, r split.Record) error {
	if r.Skip {
		p.out.skip(r.Len)
		return nil
	}
	rec, err := p.layout.record(r)
	if err != nil {
		return p.damage(err)
	}
	return p.out.add(ctx, &rec, r.Len)
}

func (p *pass) damage(err error) error {
	return &damage{path: p.out.tn.path, position: p.out.next(), err: err}
}

// more reads on, with credit.
func (p *pass) more(ctx context.Context) error {
	if _, err := p.events.WaitCredit(ctx); err != nil {
		return err
	}
	switch err := p.fill(p.limits.MaxRecordBytes); {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, errTooLong):
		return sdk.Errorf(sdk.KindFatal, "read "+p.out.tn.path, "at position %d: the record is longer than max_record_bytes = %d. "+
			"Nothing at or after it was delivered. Raise max_record_bytes, or repair the file under another name", p.out.next(), p.limits.MaxRecordBytes)
	case errors.Is(err, content.ErrCut), errors.Is(err, content.ErrCorrupt):
		return p.damage(err)
	default:
		return sdk.Errorf(sdk.KindRetryable, "read "+p.out.tn.path, "at position %d: %w", p.out.next(), err)
	}
}

// rest takes what stands behind the last line end.
func (p *pass) rest(ctx context.Context) error {
	tn := p.out.tn
	if len(p.bytes()) == 0 {
		return nil
	}
	if p.set.Follow && p.set.LastLine == "hold" && !p.in.Compressed() {
		return nil // a compressed file is not added to in the middle of a line
	}
	if !p.quiet(tn.since) {
		p.table.suspect(tn.file)
		return nil
	}
	r, ok := p.layout.split.Last(p.bytes())
	if !ok {
		return p.damage(errors.New("a quote in this record is not closed"))
	}
	p.take(r.Len)
	return p.record(ctx, r)
}

// tellEnd says how far there are whole lines, before they are read: that is
// what a host that runs until it has caught up goes by.
func (p *pass) tellEnd(in *content.Reader, tn *turn, size int64) (err error) {
	end := size
	if p.set.Follow {
		end, err = lastLineEnd(in.File(), size)
	}
	if err != nil {
		return notReadable(tn.path, tn.from, err)
	}
	if end > tn.from {
		p.lag(tn, end)
	}
	return nil
}

// lastLineEnd is where the last complete line ends within size bytes.
func lastLineEnd(in io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 32<<10)
	for end := size; end > 0; {
		from := max(end-int64(len(buf)), 0)
		n, err := in.ReadAt(buf[:end-from], from)
		if int64(n) < end-from {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}
