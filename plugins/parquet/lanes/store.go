package lanes

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/linklog"
	"github.com/twg-io/twg/sdk"
)

// Store is the log as the sink uses it: opened when it is first needed, and
// again where it broke. Calls may come from any goroutine; they run one after
// the other.
type Store struct {
	open  func() (disk.Dir, error)
	every uint64 // commits between checkpoints; tests have less patience

	mu   sync.Mutex
	dir  disk.Dir
	log  *linklog.Log[*entry]
	st   *state
	lock io.Closer // this process is the directory's recovery host
}

// New returns the store in the directory that open opens.
func New(open func() (disk.Dir, error)) *Store {
	return &Store{open: open, every: linklog.CheckpointEvery}
}

// with calls f with the log open. What another process removed meanwhile is
// no error: f is called again with what it left.
func (s *Store) with(ctx context.Context, op string, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := false; ; again = true {
		err := s.use(ctx)
		if err == nil {
			err = f()
		}
		if err == nil || again || !errors.Is(err, linklog.ErrMoved) {
			return linklog.OpError(op, err)
		}
	}
}

// use opens the log unless it is open and sound.
func (s *Store) use(ctx context.Context) error {
	if s.log != nil && s.log.Broken() == nil {
		return nil
	}
	dir, err := s.open()
	if err != nil {
		return err
	}
	st := newState()
	l, err := linklog.Open(ctx, dir, holder{st})
	if err != nil {
		dir.Close()
		return err
	}
	l.Every = s.every
	if s.log != nil {
		s.log.Close()
	}
	s.dir, s.log, s.st = dir, l, st
	return nil
}

// Close releases the directory, and the place of its recovery host.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.lock != nil {
		err = s.lock.Close()
	}
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
	}
	s.lock, s.log = nil, nil
	return err
}

// read calls f with the newest state, which is durable.
func (s *Store) read(ctx context.Context, op string, f func(*state)) error {
	return s.with(ctx, op, func() error {
		return s.log.Current(ctx, func() error { f(s.st); return nil })
	})
}

// change commits what f adds to the newest state. f may be called again, and
// then has to begin anew.
func (s *Store) change(ctx context.Context, op string, f func(*state, *entry) error) error {
	return s.with(ctx, op, func() error {
		err := s.log.Renew(ctx, func() (*linklog.Temp, *entry, error) {
			e := newEntry(s.st.nextID)
			if err := f(s.st, e); err != nil {
				return nil, nil, err
			}
			if e.empty() {
				return nil, nil, linklog.ErrNothing
			}
			return s.log.Plain(e)
		})
		if err == nil {
			s.log.Tidy(ctx) // what it could not remove, the next one will
		}
		return err
	})
}

// rejected is an error of what the caller asks for.
func rejected(format string, args ...any) error {
	return sdk.Errorf(sdk.KindRejected, "", format, args...)
}
