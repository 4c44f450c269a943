package source

import (
	"context"
	"errors"
	"io/fs"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

var (
	// errRunOver: the host has dropped the run; what was read of it is nobody's.
	errRunOver = errors.New("the run is over")
	// errReplaced: another file lies there now.
	errReplaced = errors.New("the file was replaced, or cut and begun anew")
)

// quantum is how much of a large file is read before others have their turn. A
// compressed one is read to its end: it would have to be expanded again.
const quantum = 64 << 20

// serve reads one file after the other until ctx ends.
func (r *reader) serve(ctx context.Context) {
	p := newPass(r)
	for {
		tn, turnCtx, err := r.table.take(ctx)
		if err != nil {
			return
		}
		more, err := p.turn(turnCtx, tn)
		over := turnCtx.Err() != nil || errors.Is(err, errRunOver)
		r.table.endTurn(tn, more && err == nil)
		if err != nil && !over {
			r.fail(ctx, err)
			return
		}
	}
}

// pass is a reader's hands: its memory outlives turns.
type pass struct {
	*reader
	out    frames
	layout *layout
	window
}

func newPass(r *reader) *pass {
	return &pass{reader: r, out: frames{r: r, buffers: &r.buffers}, layout: newLayout(r.set)}
}

// turn takes one turn, with all that can be wrong with a file. more: it is
// known to hold more.
func (p *pass) turn(ctx context.Context, tn *turn) (more bool, err error) {
	p.out.begin(tn)
	if tn.gone {
		return false, p.end(ctx, tn)
	}
	more, err = p.read(ctx, tn)
	var bad *damage
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errReplaced):
		return false, p.stray(ctx, tn)
	case errors.Is(err, content.ErrShort):
		p.gap(tn, err)
		return false, nil
	case errors.As(err, &bad):
		return false, p.damaged(ctx, tn, bad)
	}
	return more, err
}

// read sends what the file holds from the turn's position on.
func (p *pass) read(ctx context.Context, tn *turn) (more bool, err error) {
	in, size, err := p.open(tn)
	if err != nil {
		return false, err
	}
	p.out.in = in
	defer func() {
		p.out.in = nil
		in.Close()
	}()
	more, err = p.recordsOf(ctx, in, tn, size)
	if err != nil && ctx.Err() == nil && in.Rewritten() {
		return false, errReplaced
	}
	return more, err
}

func (p *pass) recordsOf(ctx context.Context, in *content.Reader, tn *turn, size int64) (more bool, err error) {
	if err := p.begin(ctx, in, tn, size); err != nil {
		return false, err
	}
	more, err = p.records(ctx)
	if err != nil {
		return false, err
	}
	if more {
		return true, p.out.flush(ctx)
	}
	return false, p.finish(ctx, tn)
}

// open opens the turn's file, if it is still the same, and says how much of it
// there is to read.
func (p *pass) open(tn *turn) (*content.Reader, int64, error) {
	in, err := content.Open(tn.path, tn.file.as)
	if err != nil {
		return nil, 0, notReadable(tn.path, tn.from, err)
	}
	size, err := p.recognize(in, tn)
	if err != nil {
		in.Close()
		return nil, 0, err
	}
	return in, size, nil
}

// recognize makes sure that it is the turn's file, and returns its size.
func (p *pass) recognize(in *content.Reader, tn *turn) (int64, error) {
	info, err := in.File().Stat()
	if err != nil {
		return 0, notReadable(tn.path, tn.from, err)
	}
	incarnation, err := incarnationOf(in, p.layout.headLines(), true)
	switch {
	case err != nil:
		return 0, notReadable(tn.path, tn.from, err)
	case incarnation != tn.file.stream.Incarnation:
		return 0, errReplaced
	case in.Compressed():
		return sdk.MaxPosition, nil
	}
	return info.Size(), nil
}

// begin goes to where the turn begins, past the header.
func (p *pass) begin(ctx context.Context, in *content.Reader, tn *turn, size int64) error {
	from := tn.from
	if p.layout.hasHeader() {
		n, err := p.header(ctx, in, tn, size)
		if err != nil {
			return err
		}
		if from < n {
			p.out.skip(int(n - from))
			from = n
		}
	}
	if err := in.SeekTo(ctx, from); err != nil {
		return notReadable(tn.path, tn.from, err)
	}
	p.reset(in, size)
	if tn.first && !in.Compressed() && p.set.Format != "csv" && (!p.set.Follow || p.set.LastLine == "hold") {
		return p.tellEnd(in, tn, size)
	}
	return nil
}

// header reads the header and returns where it ends.
func (p *pass) header(ctx context.Context, in *content.Reader, tn *turn, size int64) (int64, error) {
	if err := in.SeekTo(ctx, 0); err != nil {
		return 0, notReadable(tn.path, tn.from, err)
	}
	p.reset(in, size)
	var n int64
	for {
		rec, ok := p.layout.split.Next(p.bytes())
		if !ok {
			if err := p.more(ctx); err != nil {
				return 0, noHeader(tn, err)
			}
			continue
		}
		p.take(rec.Len)
		n += int64(rec.Len)
		if rec.Skip {
			continue
		}
		if err := p.layout.begin(rec.Value); err != nil {
			return 0, &damage{path: tn.path, err: err}
		}
		return n, nil
	}
}

// finish sends what is left and says that the host has everything.
func (p *pass) finish(ctx context.Context, tn *turn) error {
	if tn.last {
		return p.end(ctx, tn)
	}
	if err := p.table.finish(ctx, tn); err != nil {
		return err
	}
	if err := p.out.flush(ctx); err != nil {
		return err
	}
	p.lag(tn, p.out.next())
	if !p.set.Follow {
		p.events.Ended([]uint64{tn.run})
	}
	return nil
}
