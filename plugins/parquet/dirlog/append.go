package dirlog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/plugins/parquet/rawfile"
)

// CheckpointEvery is how many commits may follow a checkpoint before the next
// commit has to be one.
const CheckpointEvery = 128

// build makes a commit from the current state: its file, complete and
// fsynced, and what the file's footer says. It is called again when another
// writer was first.
type build func() (*Temp, *footer.Footer, error)

// append commits what b builds. commit is held.
func (l *Log) append(ctx context.Context, b build) error {
	for {
		if err := l.usable(ctx); err != nil {
			return err
		}
		if l.st.last-l.st.checkpoint >= l.every {
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

func (l *Log) appendOnce(ctx context.Context, b build) error {
	t, f, err := b()
	if err != nil {
		return err
	}
	if f.Kind != footer.Data {
		defer t.Discard() // a data file is its caller's
	}
	linked, err := l.link(t, f)
	if err != nil {
		return err
	}
	if !linked {
		if err := l.refresh(ctx); err != nil {
			return err
		}
		return errRace
	}
	if err := l.apply(l.st.last+1, f); err != nil {
		return l.breakWith(err)
	}
	t.unname()
	return l.syncDir()
}

// link tries to make t the next commit. false: another writer was first.
func (l *Log) link(t *Temp, f *footer.Footer) (bool, error) {
	if err := l.relyOn(); err != nil { // n only after an fsync that covers n-1
		return false, err
	}
	n := l.st.last + 1
	// With n+1 there, n is taken, or was lost and must not be filled.
	if next, err := l.dir.Exists(FileName(n + 1)); err != nil || next {
		return false, err
	}
	err := l.dir.Link(t.name, FileName(n))
	faultpoint.Hit("link")
	if err != nil {
		if own, rerr := l.isThere(n, f); !own {
			if errors.Is(rerr, fs.ErrNotExist) {
				rerr = err
			}
			return false, rerr
		}
	}
	return true, l.guard(n)
}

// isThere reports whether commit n is f. Whatever link said, the file that is
// there has the last word: a server may have done the work and lost the
// answer.
func (l *Log) isThere(n uint64, f *footer.Footer) (bool, error) {
	there, err := l.read(n)
	return err == nil && there.CommitID == f.CommitID, err
}

// guard makes sure, after n was linked, that no one had used the number
// before and removed it.
func (l *Log) guard(n uint64) error {
	if err := l.stillThere(); err != nil {
		l.dir.Remove(FileName(n))
		return l.breakWith(err)
	}
	return nil
}

// stillThere makes sure that the newest commit that was read has not been
// removed: older ones are removed first, so then all after it are there.
func (l *Log) stillThere() error {
	if l.st.last > 0 {
		there, err := l.dir.Exists(FileName(l.st.last))
		if err == nil && !there {
			err = fmt.Errorf("commit %d (%s), which was read, is gone", l.st.last, FileName(l.st.last))
		}
		return err
	}
	newest, err := l.scan(false)
	if err != nil || newest <= 1 {
		return err
	}
	second, err := l.dir.Exists(FileName(2))
	if err == nil && !second {
		err = fmt.Errorf("commit %d appeared in a log that was empty", newest)
	}
	return err
}

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
	if err := l.stillThere(); err != nil {
		return l.breakWith(err)
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

func (l *Log) buildCheckpoint() (*Temp, *footer.Footer, error) { return l.empty(l.st.whole()) }

// empty writes a commit of no rows.
func (l *Log) empty(f *footer.Footer) (*Temp, *footer.Footer, error) {
	rand.Read(f.CommitID[:])
	t, err := l.Temp()
	if err != nil {
		return nil, nil, err
	}
	err = rawfile.Empty(t, f)
	if err == nil {
		err = t.Sync()
	}
	if err != nil {
		t.Discard()
		return nil, nil, err
	}
	return t, f, nil
}
