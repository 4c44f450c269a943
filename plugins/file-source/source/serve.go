package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

var (
	// errRunOver: the host has dropped the run; what was read of it is nobody's.
	errRunOver = errors.New("the run is over")
	// errReplaced: another file lies there now.
	errReplaced = errors.New("the file was replaced, or cut and begun anew")
)

// quantum is how much of a large file is read before others have their turn.
const quantum = 64 << 20

// serve reads one file after the other until ctx ends.
func (r *reader) serve(ctx context.Context) {
	p := &pass{reader: r, out: frames{r: r, buffers: &r.buffers}}
	for {
		tn, turnCtx, err := r.table.take(ctx)
		if err != nil {
			return
		}
		more, err := p.read(turnCtx, tn)
		over := turnCtx.Err() != nil || errors.Is(err, errRunOver)
		r.table.endTurn(tn, more && err == nil)
		if err != nil && !over {
			r.fail(ctx, err)
			return
		}
	}
}

// pass is a reader's hands: its buffer outlives turns.
type pass struct {
	*reader
	out frames
	window
}

// read takes one turn. more: the file is known to hold more.
func (p *pass) read(ctx context.Context, tn *turn) (more bool, err error) {
	in, size, err := p.openTurn(tn)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, errReplaced) {
		return false, p.lost(ctx, tn, err)
	}
	if err != nil {
		return false, err
	}
	defer in.Close()
	if err := in.SeekTo(tn.from); err != nil {
		if errors.Is(err, content.ErrShort) {
			p.gap(tn, err)
			return false, nil
		}
		return false, unreadable(tn, tn.from, err)
	}
	p.out.begin(tn)
	p.reset(in, size)
	more, err = p.records(ctx)
	if err != nil {
		return false, err
	}
	if more {
		return true, p.out.flush(ctx)
	}
	return false, p.finish(ctx, tn)
}

// openTurn opens the turn's file, if it is still the same.
func (p *pass) openTurn(tn *turn) (in *content.Reader, size int64, err error) {
	in, err = content.Open(tn.path)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			in.Close()
		}
	}()
	info, err := in.File().Stat()
	if err != nil {
		return nil, 0, err
	}
	incarnation, err := incarnationOf(in, p.headLines(), !p.set.Follow)
	if err == nil && incarnation != tn.file.stream.Incarnation {
		err = errReplaced
	}
	return in, info.Size(), err
}

// finish sends what is left and says that the host has everything.
func (p *pass) finish(ctx context.Context, tn *turn) error {
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

// lost gives up a file that is not there any more. What was read of it counts.
func (p *pass) lost(ctx context.Context, tn *turn, cause error) error {
	if err := p.table.finish(ctx, tn); err != nil {
		return err
	}
	p.log.Warn("the stream ends: its file cannot be read any further", "file", tn.path, "position", tn.from, "error", cause)
	p.lag(tn, tn.from)
	p.events.Ended([]uint64{tn.run})
	p.table.lose(tn.file)
	select {
	case p.lookAgain <- struct{}{}:
	default:
	}
	return nil
}

func (r *reader) lag(tn *turn, end int64) {
	r.events.Lag([]sdk.Lag{{Stream: tn.file.stream, Run: tn.run, End: end, AtMS: time.Now().UnixMilli()}})
}

func (r *reader) gap(tn *turn, cause error) {
	r.events.Gap(sdk.Gap{Stream: tn.file.stream, Run: tn.run, Wanted: tn.from, Cause: sdk.GapOutOfRange, Reason: fmt.Sprintf("file %s: %v", tn.path, cause)})
}

// unreadable says which file cannot be read, and from where on.
func unreadable(tn *turn, position int64, err error) error {
	return sdk.Errorf(sdk.KindRetryable, "read "+tn.path, "at position %d: %w", position, err)
}

// endOf is where a file's last complete record ends.
func (r *reader) endOf(path string) (int64, error) {
	in, err := content.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var w window
	w.reset(in, 1<<62)
	var end int64
	for {
		rec, ok := r.split.Next(w.bytes())
		if ok {
			w.take(rec.Len)
			end += int64(rec.Len)
			continue
		}
		if err := w.fill(r.limits.MaxRecordBytes); err == io.EOF {
			return end, nil
		} else if err != nil {
			return 0, err
		}
	}
}
