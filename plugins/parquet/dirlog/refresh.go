package dirlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
)

// refresh reads the commits of other writers.
func (l *Log) refresh(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := l.st.last + 1
		f, err := l.read(n)
		if errors.Is(err, fs.ErrNotExist) {
			return l.atEnd(n)
		}
		if err != nil {
			return err
		}
		if err := l.apply(n, f); err != nil {
			return l.breakWith(l.damaged(n, err))
		}
	}
}

// atEnd makes sure that n, which was not found, is the log's end.
func (l *Log) atEnd(n uint64) error {
	if gone, err := l.gone(); gone != nil || err != nil {
		return l.breakWith(errors.Join(gone, err))
	}
	next, err := l.dir.Exists(FileName(n + 1))
	if err != nil || !next {
		return err
	}
	if there, err := l.dir.Exists(FileName(n)); err != nil || there {
		return err // both came meanwhile; the next link will find out
	}
	return l.breakWith(l.missing(n, n+1))
}

func (l *Log) apply(n uint64, f *footer.Footer) error {
	l.state.Lock()
	defer l.state.Unlock()
	return l.st.apply(n, f)
}

// syncDir makes durable all that was read and linked so far.
func (l *Log) syncDir() error {
	last := l.st.last
	err := l.dir.Sync()
	faultpoint.Hit("dirsync")
	if err != nil {
		return l.breakWith(fmt.Errorf("fsync directory: %w", err))
	}
	l.synced = last
	return nil
}

// relyOn makes what was read durable before anybody is told.
func (l *Log) relyOn() error {
	if l.synced == l.st.last {
		return nil
	}
	return l.syncDir()
}

func (l *Log) usable(ctx context.Context) error {
	if l.broken != nil {
		return errors.Join(errBroken, l.broken)
	}
	return ctx.Err()
}

// breakWith ends this Log: what it knows and what is there may differ.
func (l *Log) breakWith(err error) error {
	if l.broken == nil {
		l.broken = err
	}
	return err
}
