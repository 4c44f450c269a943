package main

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// appendFile is a file of lines. The zero value opens it at first use.
type appendFile struct{ f *os.File }

// append returns nil once lines are on stable storage. After an error the
// file is opened anew, which leaves out half a line.
func (a *appendFile) append(path string, lines []byte) (err error) {
	if a.f == nil {
		if a.f, err = openLines(path); err != nil {
			return err
		}
	}
	if _, err = a.f.Write(lines); err == nil {
		err = a.f.Sync()
	}
	if err != nil {
		a.f.Close()
		a.f = nil
	}
	return err
}

// openLines takes the file for this process alone, cuts off half a line that a
// crash may have left, and makes the file's name durable.
func openLines(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = cutHalfLine(f)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func cutHalfLine(f *os.File) error {
	end, err := f.Seek(0, io.SeekEnd)
	for one := make([]byte, 1); err == nil && end > 0; end-- {
		if _, err = f.ReadAt(one, end-1); one[0] == '\n' {
			break
		}
	}
	if err != nil {
		return err
	}
	return f.Truncate(end)
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
