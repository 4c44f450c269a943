package linklog

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"syscall"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/disk"
)

// Temp is a file that is to become a commit. One goroutine at a time.
type Temp struct {
	// Kept: whoever made it discards it, not the Log.
	Kept bool

	dir  disk.Dir
	name string
	file disk.File
}

// temps makes temporary files of one writer.
type temps struct {
	dir    disk.Dir
	writer string // random, part of the names
	made   atomic.Uint64
}

// Temp creates a file that no reader sees. Another process that opens the log
// just then may take it for a dead one's; the next name has better luck.
func (t *temps) Temp() (*Temp, error) {
	for try := 0; ; try++ {
		name := fmt.Sprintf("%s%s-%d%s", tempPrefix, t.writer, t.made.Add(1), tempSuffix)
		f, err := t.dir.Create(name)
		if err == nil {
			return &Temp{dir: t.dir, name: name, file: f}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, fs.ErrNotExist) || try == 2 {
			return nil, err
		}
	}
}

// Write implements io.Writer.
func (t *Temp) Write(b []byte) (int, error) { return t.file.Write(b) }

// Sync makes the content durable. After an error the file must be discarded.
func (t *Temp) Sync() error {
	err := t.file.Sync()
	faultpoint.Hit("fsync")
	return err
}

// Discard removes the temporary name and closes the file. A commit that was
// linked keeps its other name. It may be called again.
func (t *Temp) Discard() error {
	err := t.unname()
	if t.file != nil {
		if cerr := t.file.Close(); err == nil {
			err = cerr
		}
		t.file = nil
	}
	return err
}

// unname removes the temporary name. Where that fails the leftover is hidden,
// and the next Open removes it.
func (t *Temp) unname() error {
	if t.name == "" {
		return nil
	}
	err := t.dir.Remove(t.name)
	t.name = ""
	return err
}
