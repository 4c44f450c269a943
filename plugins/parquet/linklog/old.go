package linklog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
)

// Last is the newest commit that was read.
func (l *Log[C]) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Numbers lists the commits that were read, ascending. Without list it is
// taken for granted that those after the given one are there. To be called
// inside of Current, Append, Renew or Settle.
func (l *Log[C]) Numbers(list bool, after uint64) ([]uint64, error) {
	var out []uint64
	if !list {
		for n := after + 1; n <= l.last; n++ {
			out = append(out, n)
		}
		return out, nil
	}
	names, err := l.dir.List()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		n, ok, err := Number(name, l.codec.Suffix())
		if err != nil {
			return nil, sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
		if ok && n > after && n <= l.last {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Checkpoint is the newest checkpoint that was read; 0: none. It may be called
// at any time.
func (l *Log[C]) Checkpoint() uint64 { return l.checkpoint.Load() }

// ReadCommit reads commit n, which may be older than the newest checkpoint. To
// be called inside of Current, Append, Renew or Settle. fs.ErrNotExist: it was
// removed.
func (l *Log[C]) ReadCommit(n uint64) (C, error) { return l.read(n) }

// OpenCommit opens commit n to read its data, and checks it once more. It may
// be called at any time. fs.ErrNotExist: it was removed.
func (l *Log[C]) OpenCommit(n uint64) (disk.Reader, error) {
	r, err := l.dir.Open(l.name(n))
	if err != nil {
		return nil, err
	}
	if _, err := l.codec.Read(r, r.Size()); err != nil {
		r.Close()
		return nil, l.Damaged(n, err)
	}
	return r, nil
}

// Damaged says which commit an error of its content is about, and what can be
// done about it.
func (l *Log[C]) Damaged(n uint64, err error) error { return l.damaged(n, err) }

// Remove removes all commits below the given one, which a checkpoint that was
// read stands for, and makes that durable.
func (l *Log[C]) Remove(ctx context.Context, below uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil {
		return err
	}
	if below > l.Checkpoint() {
		return fmt.Errorf("remove commits below %d: the newest checkpoint is %d", below, l.Checkpoint())
	}
	if err := l.relyOn(); err != nil { // the checkpoint may not be durable yet
		return err
	}
	return l.remove(ctx, below)
}

// remove removes in ascending order: see gone.
func (l *Log[C]) remove(ctx context.Context, below uint64) error {
	ns, err := l.Numbers(true, 0)
	if err != nil {
		return err
	}
	for _, n := range ns {
		if n >= below {
			break
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Another process may be at it too.
		if err := l.dir.Remove(l.name(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		faultpoint.Hit("remove")
	}
	return l.syncDir()
}

// Tidy removes what the checkpoint before the newest one stands for. Whoever
// lags behind by less than a checkpoint still finds what it has to read.
func (l *Log[C]) Tidy(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(ctx); err != nil || l.previous <= l.tidied {
		return err
	}
	if err := l.relyOn(); err != nil {
		return err
	}
	err := l.remove(ctx, l.previous)
	if err == nil {
		l.tidied = l.previous
	}
	return err
}
