package sink

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/dirlog"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// Replay implements sdk.Replayer. Which file holds which positions is read,
// and durable, before the first row is; a file that is gone when its turn
// comes was pruned, and is not reported. Batches ascend by position, and
// their spans together are the spans that are returned.
func (s *Sink) Replay(ctx context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	r := &replay{stream: w.Stream, give: f}
	pieces, err := withLog(ctx, s, func(l *dirlog.Log) ([]dirlog.Piece, error) {
		r.log = l
		return l.Pieces(ctx, w.Stream, coverage.Interval{From: w.From, Next: w.Next})
	})
	if err != nil {
		return nil, err
	}
	for _, p := range pieces {
		if err = r.piece(ctx, p); err != nil {
			break
		}
	}
	if err == nil {
		err = r.flush(ctx, r.next)
	}
	if g, ok := errors.AsType[given](err); ok {
		return r.read, g.error
	}
	if err != nil {
		err = linklog.OpError(fmt.Sprintf("replay [%d,%d) of %s", w.From, w.Next, w.Stream), err)
	}
	return r.read, err
}

// replay is a Replay on its way.
type replay struct {
	log    *dirlog.Log
	stream sdk.Stream
	give   func(*sdk.Batch) error
	read   []sdk.Span // given

	b          frame.Builder
	ids        []byte
	enc        []byte
	from, next int64 // read and not given
	prefix     []byte
}

// piece reads what one commit holds.
func (r *replay) piece(ctx context.Context, p dirlog.Piece) error {
	if p.From != r.next {
		if err := r.flush(ctx, r.next); err != nil {
			return err
		}
		r.from, r.next = p.From, p.From
	}
	file, err := r.log.File(p.Commit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	rows, err := rawfile.OpenFile(file, file.Size())
	if err == nil {
		err = rows.Rows(ctx, r.stream, p.Interval, func(rec *frame.Record, id []byte) error { return r.row(ctx, rec, id) })
	}
	if err != nil {
		return r.blame(ctx, p.Commit, err)
	}
	r.next = p.Next
	return nil
}

// given is an error of the caller's.
type given struct{ error }

// blame says whose error it is: the file's, unless it is the caller's or the
// disk's.
func (r *replay) blame(ctx context.Context, commit uint64, err error) error {
	if _, ok := errors.AsType[given](err); ok || ctx.Err() != nil {
		return err
	}
	return r.log.Damaged(commit, err)
}

// row adds a row to the batch, which is given first if it has no room.
func (r *replay) row(ctx context.Context, rec *frame.Record, id []byte) error {
	if err := r.checkID(rec.Position, id); err != nil {
		return err
	}
	n := r.b.NumRecords()
	if n >= sdk.DefaultLimits.FrameRecords || n > 0 && r.b.Size()+sizeOf(rec) > sdk.DefaultLimits.FrameBytes {
		if err := r.flush(ctx, rec.Position); err != nil {
			return err
		}
	}
	r.b.Append(r.b.Stream(r.stream), rec)
	r.ids = append(r.ids, id...)
	r.next = rec.Position + 1
	return nil
}

// sizeOf is about what a record adds to a frame.
func sizeOf(r *frame.Record) int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value) + 16
	}
	return n + 32
}

// checkID holds a record id against the row: its stream's 16 bits are those of
// the other rows, and its 48 bits are the position.
func (r *replay) checkID(position int64, id []byte) error {
	if r.prefix == nil {
		r.prefix = []byte{id[0], id[1]}
	}
	if [2]byte(id) != [2]byte(r.prefix) || int64(binary.BigEndian.Uint64(id)&(1<<48-1)) != position {
		return fmt.Errorf("position %d of %s has record id %x, which is of another row", position, r.stream, id)
	}
	return nil
}

// flush gives what was read up to a position.
func (r *replay) flush(ctx context.Context, next int64) error {
	if r.from >= next {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return given{err}
	}
	b, err := r.batch(sdk.Span{Stream: r.stream, From: r.from, Next: next})
	if err != nil {
		return err
	}
	faultpoint.Hit("replay")
	if err := r.give(b); err != nil {
		return given{err}
	}
	r.report(b.Spans[0])
	r.b.Reset()
	r.ids, r.from = r.ids[:0], next
	return nil
}

func (r *replay) batch(span sdk.Span) (*sdk.Batch, error) {
	r.b.Stream(r.stream) // a span may have no rows
	var err error
	if r.enc, err = r.b.Encode(r.enc[:0]); err != nil {
		return nil, err
	}
	v, err := frame.Open(r.enc)
	return &sdk.Batch{Frame: v, IDs: r.ids, Spans: []sdk.Span{span}}, err
}

// report adds to what was read; neighbours are one.
func (r *replay) report(s sdk.Span) {
	if n := len(r.read); n > 0 && r.read[n-1].Next == s.From {
		r.read[n-1].Next = s.Next
		return
	}
	r.read = append(r.read, s)
}
