package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Sub implements Dir.
func (l *local) Sub(name string) (Dir, error) { return Local(l.at(name), true) }

// maxNote bounds what is read of a lock's note.
const maxNote = 4096

// Lock locks a file (flock), which stays when the lock ends. The kernel drops
// the lock with the process.
func (l *local) Lock(name string, note []byte) (io.Closer, []byte, error) {
	f, err := os.OpenFile(l.at(name), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		holder, err := io.ReadAll(io.LimitReader(f, maxNote))
		return nil, holder, err
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(note, 0)
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("lock %s: %w", l.at(name), err)
	}
	return f, nil, nil
}
