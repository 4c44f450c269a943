package disk

import (
	"errors"
	"io"
)

type memFile struct {
	d    *MemDir
	ino  *inode
	name string
}

func (f *memFile) Write(b []byte) (int, error) {
	defer f.d.m.mu.Unlock()
	if err := f.d.begin("write", f.name); err != nil {
		f.ino.data = append(f.ino.data, b[:len(b)/2]...)
		return len(b) / 2, err // a short write
	}
	f.ino.data = append(f.ino.data, b...)
	return len(b), nil
}

func (f *memFile) Sync() error {
	defer f.d.m.mu.Unlock()
	if err := f.d.begin("sync", f.name); err != nil {
		f.ino.broken = !errors.Is(err, ErrKilled)
		return err
	}
	if !f.ino.broken { // a second fsync reports success and changes nothing
		f.ino.synced = f.ino.data[:len(f.ino.data):len(f.ino.data)]
	}
	return nil
}

func (f *memFile) Close() error {
	f.d.m.mu.Lock()
	defer f.d.m.mu.Unlock()
	f.ino.owner = nil
	return nil
}

type memReader []byte

func (r memReader) Size() int64  { return int64(len(r)) }
func (r memReader) Close() error { return nil }
func (r memReader) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off > int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(b, r[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
