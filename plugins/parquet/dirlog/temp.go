package dirlog

import (
	"fmt"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/parquet/disk"
)

// Temp is a file that is to become a commit. One goroutine at a time.
type Temp struct {
	log  *Log
	name string
	file disk.File
}

// Temp creates a file that no reader sees.
func (l *Log) Temp() (*Temp, error) {
	l.state.Lock()
	l.temps++
	name := fmt.Sprintf("%s%s-%d%s", tempPrefix, l.writer, l.temps, tempSuffix)
	l.state.Unlock()
	f, err := l.dir.Create(name)
	if err != nil {
		return nil, err
	}
	return &Temp{l, name, f}, nil
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
	err := t.log.dir.Remove(t.name)
	t.name = ""
	return err
}
