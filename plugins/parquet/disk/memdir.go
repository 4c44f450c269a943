package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// MemDir is a Mem as one process has it open.
type MemDir struct {
	m    *Mem
	proc *process
	seen int // of Mem.dirErrors
}

// Kill ends the process: its locks are gone and its calls fail.
func (d *MemDir) Kill() {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	d.proc.dead = true
}

func (d *MemDir) begin(op, name string) error {
	d.m.mu.Lock()
	if d.proc.dead || d.proc.boot != d.m.boots {
		return fmt.Errorf("%s %s: the process is dead", op, name)
	}
	if d.m.Fail == nil {
		return nil
	}
	if err := d.m.Fail(op, name); err != nil {
		return fmt.Errorf("%s %s: %w", op, name, err)
	}
	return nil
}

// Path implements Dir.
func (d *MemDir) Path() string { return "mem" }

// Close implements Dir.
func (d *MemDir) Close() error { return nil }

// List implements Dir.
func (d *MemDir) List() ([]string, error) {
	defer d.m.mu.Unlock()
	if err := d.begin("list", ""); err != nil {
		return nil, err
	}
	var out []string
	for name := range d.m.names {
		out = append(out, name)
	}
	return out, nil
}

// Exists implements Dir.
func (d *MemDir) Exists(name string) (bool, error) {
	defer d.m.mu.Unlock()
	if err := d.begin("open", name); err != nil {
		return false, err
	}
	return d.m.names[name] != nil, nil
}

// Open implements Dir.
func (d *MemDir) Open(name string) (Reader, error) {
	defer d.m.mu.Unlock()
	if err := d.begin("open", name); err != nil {
		return nil, err
	}
	ino := d.m.names[name]
	if ino == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return memReader(ino.data), nil
}

// Create implements Dir.
func (d *MemDir) Create(name string) (File, error) {
	defer d.m.mu.Unlock()
	if err := d.begin("create", name); err != nil {
		return nil, err
	}
	if d.m.names[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	d.m.dirBroken = false
	ino := &inode{owner: d.proc}
	d.m.names[name] = ino
	return &memFile{d, ino, name}, nil
}

// Link implements Dir.
func (d *MemDir) Link(from, to string) error {
	defer d.m.mu.Unlock()
	if err := d.begin("link", to); err != nil {
		return err
	}
	ino := d.m.names[from]
	if ino == nil {
		return &fs.PathError{Op: "link", Path: from, Err: fs.ErrNotExist}
	}
	if d.m.names[to] != nil {
		return &fs.PathError{Op: "link", Path: to, Err: fs.ErrExist}
	}
	d.m.dirBroken = false
	d.m.names[to] = ino
	return nil
}

// Remove implements Dir.
func (d *MemDir) Remove(name string) error {
	defer d.m.mu.Unlock()
	if err := d.begin("remove", name); err != nil {
		return err
	}
	if d.m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.m.dirBroken = false
	delete(d.m.names, name)
	return nil
}

// RemoveStale implements Dir.
func (d *MemDir) RemoveStale(name string) (bool, error) {
	defer d.m.mu.Unlock()
	if err := d.begin("remove", name); err != nil {
		return false, err
	}
	ino := d.m.names[name]
	if ino == nil || ino.owner != nil && !ino.owner.dead {
		return false, nil
	}
	delete(d.m.names, name)
	return true, nil
}

// Sync implements Dir.
func (d *MemDir) Sync() error {
	defer d.m.mu.Unlock()
	if err := d.begin("syncdir", ""); err != nil {
		if !errors.Is(err, ErrKilled) {
			d.m.dirBroken = true
			d.m.dirErrors++
			d.seen = d.m.dirErrors
		}
		return err
	}
	if d.seen != d.m.dirErrors {
		d.seen = d.m.dirErrors
		return &fs.PathError{Op: "fsync", Path: ".", Err: syscall.EIO}
	}
	if d.m.dirBroken {
		return nil
	}
	d.m.durable = map[string]*inode{}
	for name, ino := range d.m.names {
		d.m.durable[name] = ino
	}
	return nil
}
