package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Local opens a directory of a local file system. With create it makes what
// is missing of the path, durably.
func Local(path string, create bool) (Dir, error) {
	if create {
		if err := mkdirSync(filepath.Clean(path)); err != nil {
			return nil, err
		}
	}
	d, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := d.Stat()
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "open directory", Path: path, Err: syscall.ENOTDIR}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return &local{path: path, dir: d}, nil
}

// mkdirSync makes a directory and its parents, and fsyncs the parent of each
// that it made: a log in a directory that vanishes with the power is no log.
func mkdirSync(path string) error {
	if st, err := os.Stat(path); err == nil {
		if !st.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
		}
		return nil
	}
	parent := filepath.Dir(path)
	if parent != path {
		if err := mkdirSync(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncPath(parent)
}

func syncPath(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

type local struct {
	path string
	dir  *os.File
}

func (l *local) Path() string               { return l.path }
func (l *local) at(name string) string      { return filepath.Join(l.path, name) }
func (l *local) Link(from, to string) error { return os.Link(l.at(from), l.at(to)) }
func (l *local) Remove(name string) error   { return os.Remove(l.at(name)) }
func (l *local) Close() error               { return l.dir.Close() }

func (l *local) List() ([]string, error) {
	d, err := os.Open(l.path) // its own offset, so that calls may run beside each other
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (l *local) Exists(name string) (bool, error) {
	_, err := os.Lstat(l.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (l *local) Open(name string) (Reader, error) {
	f, err := os.Open(l.at(name))
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("open %s: not a regular file", l.at(name))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return localReader{f, st.Size()}, nil
}

type localReader struct {
	*os.File
	size int64
}

func (r localReader) Size() int64 { return r.size }

// Sync fsyncs the directory that was opened, and so makes sure that the path
// still leads there: files are created by path.
func (l *local) Sync() error {
	if err := l.same(l.dir, ""); err != nil {
		return err
	}
	return l.dir.Sync()
}

// same makes sure that a name (empty: the directory) is the file f.
func (l *local) same(f *os.File, name string) error {
	there, err := os.Lstat(l.at(name))
	if name == "" {
		there, err = os.Stat(l.path) // it may be a link
	}
	if err != nil {
		return err
	}
	open, err := f.Stat()
	if err == nil && !os.SameFile(open, there) {
		err = fmt.Errorf("%s was replaced while it was in use", l.at(name))
	}
	return err
}

// Create locks the new file (flock) for as long as it is open. The kernel
// drops the lock with the process, so a lock that can be had means that the
// writer is gone. RemoveStale may come between creation and lock: that is an
// error, and another name has better luck.
func (l *local) Create(name string) (File, error) {
	f, err := os.OpenFile(l.at(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = l.same(f, name)
	}
	if err != nil {
		f.Close()
		os.Remove(l.at(name))
		return nil, fmt.Errorf("lock %s: %w", l.at(name), err)
	}
	return f, nil
}

func (l *local) RemoveStale(name string) (bool, error) {
	f, err := os.Open(l.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil // its writer lives
	}
	return true, os.Remove(l.at(name))
}
