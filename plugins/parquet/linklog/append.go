package linklog

import (
	"context"
	"errors"
	"fmt"
)

// Build makes a commit from the current state: its file, complete and
// fsynced, and what it says. It is called again when another writer was first.
// An error ends the Append.
type Build[C any] func() (*Temp, C, error)

// Append commits what b builds; nil: it is durable. The file is discarded,
// unless it is Kept.
func (l *Log[C]) Append(ctx context.Context, b Build[C]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.append(ctx, b)
}

// Renew is Append of what other writers have added to the state, or of
// nothing: errors.Is(err, ErrNothing) of b means that it has nothing to add to
// the state; then the state is made durable as it is.
func (l *Log[C]) Renew(ctx context.Context, b Build[C]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.usable(ctx)
	if err == nil {
		err = l.refresh(ctx)
	}
	if err == nil {
		err = l.append(ctx, b)
	}
	if errors.Is(err, ErrNothing) {
		return l.relyOn()
	}
	return err
}

// ErrNothing is a Build's answer when the state has what it was to add.
var ErrNothing = errors.New("there is nothing to add")

// Current reads the newest commits and makes them durable, then calls f.
func (l *Log[C]) Current(ctx context.Context, f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.usable(ctx)
	if err == nil {
		err = l.refresh(ctx)
	}
	if err == nil {
		err = l.relyOn()
	}
	if err == nil {
		err = f()
	}
	return err
}

// Settle is Current in the other order: it reads the newest commits, calls f,
// and where f has no error fsyncs the directory, whether or not it has to.
func (l *Log[C]) Settle(ctx context.Context, f func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.usable(ctx)
	if err == nil {
		err = l.refresh(ctx)
	}
	if err == nil {
		err = f()
	}
	if err == nil {
		err = l.syncDir()
	}
	return err
}

func (l *Log[C]) append(ctx context.Context, b Build[C]) error {
	for {
		if err := l.usable(ctx); err != nil {
			return err
		}
		if l.last-l.checkpoint.Load() >= l.Every {
			if err := l.appendOnce(ctx, l.buildCheckpoint); err != nil && !errors.Is(err, errRace) {
				return fmt.Errorf("write checkpoint: %w", err)
			}
			continue
		}
		if err := l.appendOnce(ctx, b); !errors.Is(err, errRace) {
			return err
		}
	}
}

// errRace: another writer was first; its commits have been read.
var errRace = errors.New("another writer committed first")

func (l *Log[C]) appendOnce(ctx context.Context, b Build[C]) error {
	t, c, err := b()
	if err != nil {
		return err
	}
	if !t.Kept {
		defer t.Discard()
	}
	linked, err := l.link(t, c)
	if err != nil {
		return err
	}
	if !linked {
		if err := l.refresh(ctx); err != nil {
			return err
		}
		return errRace
	}
	if err := l.apply(c); err != nil {
		return l.breakWith(err)
	}
	t.unname()
	return l.syncDir()
}

func (l *Log[C]) buildCheckpoint() (*Temp, C, error) { return l.Plain(l.codec.Whole()) }

// Plain builds a commit that has no data besides.
func (l *Log[C]) Plain(c C) (*Temp, C, error) {
	t, err := l.Temp()
	if err != nil {
		return nil, c, err
	}
	err = l.codec.Write(t, c)
	if err == nil {
		err = t.Sync()
	}
	if err != nil {
		t.Discard()
		return nil, c, err
	}
	return t, c, nil
}
