package linklog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
)

// CheckpointEvery is how many commits may follow a checkpoint before the next
// commit has to be one.
const CheckpointEvery = 128

// Log is a directory that is a log. Methods may be called from any goroutine,
// but for those that say otherwise.
type Log[C any] struct {
	// Every is CheckpointEvery; tests have less patience. To be set before use.
	Every uint64

	temps
	codec Codec[C]

	// mu is held by whoever reads or appends commits, and while fsync runs.
	mu         sync.Mutex
	last       uint64        // the newest commit that was read
	checkpoint atomic.Uint64 // the newest one; 0: none. Written under mu.
	previous   uint64        // the checkpoint before it, if it was read
	tidied     uint64        // what lies below was removed
	synced     uint64        // commits up to here are covered by a directory fsync
	broken     error         // set once, and the end of this Log
}

// Open reads the log in dir, removes what dead writers left, and makes what
// it has read durable. It takes dir over; Close closes it.
func Open[C any](ctx context.Context, dir disk.Dir, codec Codec[C]) (*Log[C], error) {
	var token [8]byte
	rand.Read(token[:])
	l := &Log[C]{Every: CheckpointEvery, codec: codec, temps: temps{dir: dir, writer: hex.EncodeToString(token[:])}}
	if err := l.open(ctx); err != nil {
		return nil, OpError("open log "+dir.Path(), err)
	}
	return l, nil
}

// Path is the directory's name, for people.
func (l *Log[C]) Path() string { return l.dir.Path() }

// Close releases the directory. No call may be running.
func (l *Log[C]) Close() error { return l.dir.Close() }

// Broken returns why this Log can no longer be used; nil: it can.
func (l *Log[C]) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

func (l *Log[C]) name(n uint64) string { return Name(n, l.codec.Suffix()) }

func (l *Log[C]) open(ctx context.Context) error {
	newest, err := l.scan(true)
	if err != nil {
		return err
	}
	for {
		if err = l.load(newest); err == nil {
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
func (l *Log[C]) scan(clean bool) (newest uint64, err error) {
	names, err := l.dir.List()
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		n, ok, err := Number(name, l.codec.Suffix())
		if err != nil {
			return 0, sdk.Errorf(sdk.KindFatal, "", "%w", err)
		}
		if ok {
			newest = max(newest, n)
		}
		if clean && IsTemp(name) {
			if _, err := l.dir.RemoveStale(name); err != nil {
				return 0, err
			}
		}
	}
	return newest, nil
}

// load reads the commits up to newest, back to a checkpoint.
func (l *Log[C]) load(newest uint64) error {
	var back []C // newest first
	for n := newest; n > 0; n-- {
		c, err := l.read(n)
		if errors.Is(err, fs.ErrNotExist) {
			return l.missing(n, newest)
		}
		if err != nil {
			return err
		}
		back = append(back, c)
		if l.codec.IsCheckpoint(c) {
			break
		}
	}
	l.codec.Reset()
	l.last, l.previous = newest-uint64(len(back)), 0
	l.checkpoint.Store(0)
	for i := range back {
		if err := l.apply(back[len(back)-1-i]); err != nil {
			return l.damaged(l.last+1, err)
		}
	}
	return nil
}

// read reads commit n. fs.ErrNotExist: there is none.
func (l *Log[C]) read(n uint64) (c C, err error) {
	r, err := l.dir.Open(l.name(n))
	if err != nil {
		return c, err
	}
	defer r.Close()
	c, err = l.codec.Read(r, r.Size())
	if err != nil {
		return c, l.damaged(n, err)
	}
	return c, nil
}

// damaged says what can be done about a commit that cannot be read.
func (l *Log[C]) damaged(n uint64, err error) error {
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err // the disk failed, not the content
	}
	repair := l.codec.Repair()
	if n < l.checkpoint.Load() {
		repair = "or move it out of the directory: a later commit stands for it, and only its rows are lost"
	}
	return sdk.Errorf(sdk.KindFatal, "", "commit %d (%s): %w; restore the file from a backup, %s", n, l.name(n), err, repair)
}

func (l *Log[C]) missing(n, newest uint64) error {
	return sdk.Errorf(sdk.KindFatal, "", "commit %d (%s) is missing, the newest is %d, and no checkpoint lies between them; restore the file from a backup, %s",
		n, l.name(n), newest, l.codec.Repair())
}

// touch changes the directory, so that the fsync that follows cannot take an
// earlier one's failure for done.
func (l *Log[C]) touch() error {
	t, err := l.Temp()
	if err != nil {
		return err
	}
	return t.Discard()
}

// OpError names the operation and keeps the kind.
func OpError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &sdk.Error{Op: op, Kind: sdk.KindOf(err), Scope: sdk.ScopeSession, Err: err}
}
