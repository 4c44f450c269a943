package linklog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
)

// ErrMoved: old commits were removed that this Log had not gone past. It must
// be opened again.
var ErrMoved = errors.New("old commits were removed")

// moved is an ErrMoved that says which.
type moved struct{ error }

func (moved) Is(target error) bool { return target == ErrMoved }

var errBroken = errors.New("the log must be opened again")

// refresh reads the commits of other writers.
func (l *Log[C]) refresh(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := l.last + 1
		c, err := l.read(n)
		if errors.Is(err, fs.ErrNotExist) {
			return l.atEnd(n)
		}
		if err != nil {
			return err
		}
		// What was read may be a sleeper's, which takes it back.
		if gone, err := l.gone(); gone != nil || err != nil {
			return l.breakWith(errors.Join(gone, err))
		}
		if err := l.apply(c); err != nil {
			return l.breakWith(l.damaged(n, err))
		}
	}
}

// atEnd makes sure that n, which was not found, is the log's end.
func (l *Log[C]) atEnd(n uint64) error {
	if gone, err := l.gone(); gone != nil || err != nil {
		return l.breakWith(errors.Join(gone, err))
	}
	next, err := l.dir.Exists(l.name(n + 1))
	if err != nil || !next {
		return err
	}
	if there, err := l.dir.Exists(l.name(n)); err != nil || there {
		return err // both came meanwhile; the next link will find out
	}
	if gone, err := l.gone(); gone != nil || err != nil {
		return l.breakWith(errors.Join(gone, err)) // they were removed meanwhile
	}
	return l.breakWith(l.missing(n, n+1))
}

// apply adds the next commit.
func (l *Log[C]) apply(c C) error {
	if err := l.codec.Apply(c); err != nil {
		return err
	}
	l.last++
	if l.codec.IsCheckpoint(c) {
		l.previous = l.checkpoint.Swap(l.last)
	}
	return nil
}

// syncDir makes durable all that was read and linked so far.
func (l *Log[C]) syncDir() error {
	last := l.last
	err := l.dir.Sync()
	faultpoint.Hit("dirsync")
	if err != nil {
		return l.breakWith(fmt.Errorf("fsync directory: %w", err))
	}
	l.synced = last
	return nil
}

// relyOn makes what was read durable before anybody is told.
func (l *Log[C]) relyOn() error {
	if l.synced == l.last {
		return nil
	}
	return l.syncDir()
}

func (l *Log[C]) usable(ctx context.Context) error {
	if l.broken != nil {
		return errors.Join(errBroken, l.broken)
	}
	return ctx.Err()
}

// breakWith ends this Log: what it knows and what is there may differ.
func (l *Log[C]) breakWith(err error) error {
	if l.broken == nil {
		l.broken = err
	}
	return err
}
