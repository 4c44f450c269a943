package source

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

// Resolve implements sdk.Reader. The latest position is behind the last whole
// record.
func (r *reader) Resolve(ctx context.Context, queries []sdk.Query) ([]sdk.Resolved, error) {
	out := make([]sdk.Resolved, len(queries))
	for i, q := range queries {
		at, err := r.resolve(ctx, q)
		if err != nil {
			return nil, err
		}
		out[i] = sdk.Resolved{Stream: q.Stream, Position: at}
	}
	return out, nil
}

func (r *reader) resolve(ctx context.Context, q sdk.Query) (int64, error) {
	f := r.table.of(q.Stream)
	switch {
	case f == nil:
		return 0, sdk.Errorf(sdk.KindFenced, "resolve "+q.At.String(), "%s is not assigned", q.Stream)
	case q.At == sdk.StartEarliest:
		return 0, nil
	case q.At != sdk.StartLatest:
		return 0, sdk.Errorf(sdk.KindFatal, "resolve "+q.At.String(), "the records of files have no time: begin at the earliest or the latest")
	}
	path, as := r.table.where(f)
	end, err := newPass(r).endOf(ctx, path, as)
	if err != nil {
		return 0, fmt.Errorf("resolve the end of %s: %w", path, err)
	}
	return end, nil
}

// endOf is where a file's last whole record ends.
func (p *pass) endOf(ctx context.Context, path, as string) (int64, error) {
	in, err := content.Open(path, as)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	p.reset(in, sdk.MaxPosition)
	var end int64
	for ctx.Err() == nil {
		if rec, ok := p.layout.split.Next(p.bytes()); ok {
			p.take(rec.Len)
			end += int64(rec.Len)
			continue
		}
		if err := p.fill(p.limits.MaxRecordBytes); err == io.EOF || errors.Is(err, content.ErrCut) {
			return end, nil
		} else if err != nil {
			return 0, err
		}
	}
	return 0, context.Cause(ctx)
}
