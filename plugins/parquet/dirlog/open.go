package dirlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk"
)

// Log is a directory that is a log. Methods may be called from any goroutine.
type Log struct {
	dir    disk.Dir
	writer string // random, part of the names of temporary files
	every  uint64 // CheckpointEvery; tests have less patience

	// commit is held by whoever reads or appends commits, and while fsync
	// runs. state is held only for moments; it is taken inside commit.
	commit sync.Mutex
	state  sync.RWMutex
	st     *state
	synced uint64 // commits up to here are covered by a directory fsync
	broken error  // set once, and the end of this Log

	temps uint64 // numbers temporary files; guarded by state
}

// Open reads the log in dir, removes what dead writers left, and makes what
// it has read durable. It takes dir over; Close closes it.
func Open(ctx context.Context, dir disk.Dir) (*Log, error) {
	var token [8]byte
	rand.Read(token[:])
	l := &Log{dir: dir, writer: hex.EncodeToString(token[:]), every: CheckpointEvery}
	if err := l.open(ctx); err != nil {
		return nil, opError("open log "+dir.Path(), err)
	}
	return l, nil
}

// Path is the directory's name, for people.
func (l *Log) Path() string { return l.dir.Path() }

// Close releases the directory. No call may be running.
func (l *Log) Close() error { return l.dir.Close() }

// Broken returns why this Log can no longer be used; nil: it can.
func (l *Log) Broken() error {
	l.commit.Lock()
	defer l.commit.Unlock()
	return l.broken
}

func (l *Log) open(ctx context.Context) error {
	newest, err := l.scan(true)
	if err != nil {
		return err
	}
	for {
		if l.st, err = l.load(newest); err == nil {
			break
		}
		// Commits may be removed while they are read: then there are newer
		// ones, with a checkpoint.
		again, serr := l.scan(false)
		if serr != nil || again <= newest || ctx.Err() != nil {
			return errors.Join(err, serr, ctx.Err())
		}
		newest = again
	}
	if err := l.refresh(ctx); err != nil {
		return err
	}
	if err := l.touch(); err != nil {
		return err
	}
	return l.syncDir()
}

// scan lists the directory and returns the newest commit's number.
func (l *Log) scan(clean bool) (newest uint64, err error) {
	names, err := l.dir.List()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, ok, err := number(name)
		if err != nil {
			return 0, sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
		if ok {
			newest = max(newest, n)
		}
		if clean && isTemp(name) {
			if _, err := l.dir.RemoveStale(name); err != nil {
				return 0, err
			}
		}
	}
	return newest, nil
}

// load reads the commits up to newest, back to a checkpoint.
func (l *Log) load(newest uint64) (*state, error) {
	st := newState()
	var back []*footer.Footer // newest first
	for n := newest; n > 0; n-- {
		f, err := l.read(n)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, l.missing(n, newest)
		}
		if err != nil {
			return nil, err
		}
		back = append(back, f)
		if f.Kind == footer.Checkpoint {
			break
		}
	}
	first := newest - uint64(len(back)) + 1
	for i := range back {
		n := first + uint64(i)
		if err := st.apply(n, back[len(back)-1-i]); err != nil {
			return nil, l.damaged(n, err)
		}
	}
	return st, nil
}

// read reads the footer of commit n. fs.ErrNotExist: there is none.
func (l *Log) read(n uint64) (*footer.Footer, error) {
	r, err := l.dir.Open(FileName(n))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := footer.Read(r, r.Size())
	if err != nil {
		return nil, l.damaged(n, err)
	}
	return f, nil
}

const rewind = "or move this commit and all later ones out of the directory: what they hold is then read from the source again, where the source still has it"

func (l *Log) damaged(n uint64, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // the disk failed, not the content
	}
	return sdk.Errorf(sdk.KindFatal, "", "commit %d (%s): %w; restore the file from a backup, %s", n, FileName(n), err, rewind)
}

func (l *Log) missing(n, newest uint64) error {
	return sdk.Errorf(sdk.KindFatal, "", "commit %d (%s) is missing, the newest is %d, and no checkpoint lies between them; restore the file from a backup, %s",
		n, FileName(n), newest, rewind)
}

// touch changes the directory, so that the fsync that follows cannot take an
// earlier one's failure for done.
func (l *Log) touch() error {
	t, err := l.Temp()
	if err != nil {
		return err
	}
	return t.Discard()
}

// opError names the operation and keeps the kind.
func opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &sdk.Error{Op: op, Kind: sdk.KindOf(err), Scope: sdk.ScopeSession, Err: err}
}

var errBroken = fmt.Errorf("the log must be opened again")
