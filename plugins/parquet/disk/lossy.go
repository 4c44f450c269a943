package disk

import (
	"io/fs"
	"sync"
)

// lossy keeps what was not synced in the memory of the process, so that
// kill -9 of the process is to it what a power cut is to a disk. The fault
// harness uses it (tag mutant_no_fsync) to prove that it would notice a
// missing fsync: with lazy, both kinds of Sync return at once, and what was
// written reaches the directory one Sync late, as an operating system writes
// back some time later. Without lazy, Sync does what it should.
type lossy struct {
	Dir
	lazy bool

	mu    sync.Mutex
	names map[string]*lossyFile
	syncs int
}

func newLossy(d Dir, lazy bool) *lossy {
	return &lossy{Dir: d, lazy: lazy, names: map[string]*lossyFile{}}
}

type lossyFile struct {
	d      *lossy
	data   []byte
	synced int // bytes that a Sync covers
	born   int // d.syncs when it was linked
}

// Sub implements Dir.
func (l *lossy) Sub(name string) (Dir, error) {
	d, err := l.Dir.Sub(name)
	if err != nil {
		return nil, err
	}
	return newLossy(d, l.lazy), nil
}

func (l *lossy) List() ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out, err := l.Dir.List()
	for name := range l.names {
		out = append(out, name)
	}
	return out, err
}

func (l *lossy) Exists(name string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] != nil {
		return true, nil
	}
	return l.Dir.Exists(name)
}

func (l *lossy) Open(name string) (Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.names[name]; f != nil {
		return memReader(f.data), nil
	}
	return l.Dir.Open(name)
}

func (l *lossy) Create(name string) (File, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.free("create", name); err != nil {
		return nil, err
	}
	f := &lossyFile{d: l, born: l.syncs}
	l.names[name] = f
	return f, nil
}

// free makes sure that a name can be had.
func (l *lossy) free(op, name string) error {
	there, err := l.Dir.Exists(name)
	if err == nil && (there || l.names[name] != nil) {
		err = &fs.PathError{Op: op, Path: name, Err: fs.ErrExist}
	}
	return err
}

func (l *lossy) Link(from, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.names[from]
	if f == nil {
		return l.Dir.Link(from, to)
	}
	if err := l.free("link", to); err != nil {
		return err
	}
	f.born = l.syncs
	l.names[to] = f
	return nil
}

func (l *lossy) Remove(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] != nil {
		delete(l.names, name)
		return nil
	}
	return l.Dir.Remove(name)
}

func (l *lossy) RemoveStale(name string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[name] != nil {
		return false, nil
	}
	return l.Dir.RemoveStale(name)
}

func (l *lossy) Sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, f := range l.names {
		if l.lazy && f.born == l.syncs {
			continue
		}
		data := f.data
		if !l.lazy {
			data = f.data[:f.synced]
		}
		if err := l.writeBack(name, data); err != nil {
			return err
		}
		delete(l.names, name)
	}
	l.syncs++
	return l.Dir.Sync()
}

// writeBack puts a complete file in the directory, under its name at once.
func (l *lossy) writeBack(name string, data []byte) error {
	tmp := ".twg-back-" + name + ".tmp"
	f, err := l.Dir.Create(tmp)
	if err != nil {
		return err
	}
	defer f.Close()
	defer l.Dir.Remove(tmp)
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return l.Dir.Link(tmp, name)
}

func (f *lossyFile) Write(b []byte) (int, error) {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.data = append(f.data, b...)
	return len(b), nil
}

func (f *lossyFile) Sync() error {
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.synced = len(f.data)
	return nil
}

func (f *lossyFile) Close() error { return nil }
