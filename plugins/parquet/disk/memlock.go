package disk

import "io"

// memLock is a lock of a process, and the note that it left.
type memLock struct {
	m     *Mem
	owner *process
	note  []byte
}

// Sub implements Dir. In memory a directory costs nothing and is always there.
func (d *MemDir) Sub(name string) (Dir, error) {
	name = d.prefix + name + "/"
	defer d.m.mu.Unlock()
	if err := d.begin("open", name); err != nil {
		return nil, err
	}
	return d.m.open(name, d.proc), nil
}

// Lock implements Dir.
func (d *MemDir) Lock(name string, note []byte) (io.Closer, []byte, error) {
	name = d.prefix + name
	defer d.m.mu.Unlock()
	if err := d.begin("lock", name); err != nil {
		return nil, nil, err
	}
	if l := d.m.locks[name]; l != nil && l.owner != nil && !l.owner.dead && l.owner.boot == d.m.boots {
		return nil, l.note, nil
	}
	l := &memLock{d.m, d.proc, note}
	d.m.locks[name] = l
	return l, nil, nil
}

// Close gives the lock up.
func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.owner = nil
	return nil
}
