package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/twg-io/twg/plugins/file-source/content"
	"github.com/twg-io/twg/sdk"
)

// damage is what is wrong with one file; others can be read.
type damage struct {
	path     string
	position int64
	err      error
}

func (d *damage) Error() string {
	return fmt.Sprintf("read %s: at position %d: %v", d.path, d.position, d.err)
}

func (d *damage) Unwrap() error { return d.err }

// notReadable tells a file that is bad from a disk that is.
func notReadable(path string, position int64, err error) error {
	_, known := errors.AsType[*damage](err)
	switch {
	case known:
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, content.ErrShort), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, content.ErrCut), errors.Is(err, content.ErrCorrupt), errors.Is(err, fs.ErrPermission):
		return &damage{path: path, position: position, err: err}
	}
	return sdk.Errorf(sdk.KindRetryable, "read "+path, "at position %d: %w", position, err)
}

// fatal stops the pipeline for a file.
func fatal(bad error) error {
	return &sdk.Error{Kind: sdk.KindFatal, Scope: sdk.ScopeSession, Err: fmt.Errorf(
		"%w. Nothing at or after that was delivered. Repair the file under another name, take it away, or set on_bad_file = \"skip\"", bad)}
}

// noHeader: a header that has no end is no reason to wait: two lines were there
// when the file was first looked at.
func noHeader(tn *turn, err error) error {
	if err != io.EOF {
		return err
	}
	return &damage{path: tn.path, err: errors.New("the first record, which names the columns, has no end: is a quote not closed?")}
}

// damaged takes a file that cannot be read any further. What was read before
// counts. A content that breaks off is waited for while somebody may write it.
func (p *pass) damaged(ctx context.Context, tn *turn, bad *damage) error {
	if errors.Is(bad, content.ErrCut) && !p.quiet(tn.since) {
		p.table.suspect(tn.file)
		return p.out.flush(ctx)
	}
	if p.set.OnBadFile == "fail" {
		if err := p.out.flush(ctx); err != nil {
			return err
		}
		return fatal(bad)
	}
	p.log.Error("a file is left where it cannot be read; it is tried again when it changes", "error", bad)
	return p.finish(ctx, tn)
}

// quiet: nobody is taken to write to a file any more that is unchanged since
// then.
func (r *reader) quiet(since time.Time) bool {
	return !r.set.Follow || time.Since(since) >= r.set.QuietAfter
}

// stray is called where the file is not at its place any more. What becomes of
// it is for the scanner to find out; where there is none, the stream ends.
func (p *pass) stray(ctx context.Context, tn *turn) error {
	if !p.set.Follow {
		p.log.Warn("a file was taken away or replaced before it was read to its end", "file", tn.path, "position", tn.from)
		return p.end(ctx, tn)
	}
	p.table.strayed(tn.file)
	select {
	case p.lookAgain <- struct{}{}:
	default:
	}
	return nil
}

// end ends a stream whose file was read as far as it ever will be.
func (p *pass) end(ctx context.Context, tn *turn) error {
	if err := p.table.finish(ctx, tn); err != nil {
		return err
	}
	if err := p.out.flush(ctx); err != nil {
		return err
	}
	p.lag(tn, p.out.next())
	p.events.Ended([]uint64{tn.run})
	p.table.ended(tn.file)
	return nil
}

func (r *reader) lag(tn *turn, end int64) {
	r.events.Lag([]sdk.Lag{{Stream: tn.file.stream, Run: tn.run, End: end, AtMS: time.Now().UnixMilli()}})
}

func (r *reader) gap(tn *turn, cause error) {
	r.events.Gap(sdk.Gap{Stream: tn.file.stream, Run: tn.run, Wanted: tn.from, Cause: sdk.GapOutOfRange, Reason: fmt.Sprintf(
		"file %s: %v; it was cut and begins with the same line as before, so it is not told from the old one. If all of it is new, put a copy in its place by renaming it: that is another file", tn.path, cause)})
}
