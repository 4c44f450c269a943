package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
)

// MemDir is a Mem as one process has it open.
type MemDir struct {
	m      *Mem
	proc   *process
	prefix string // of the names in it; empty: the directory itself
	health *memHealth
	seen   int // of health.errors
}

// Kill ends the process: its locks are gone and its calls fail.
func (d *MemDir) Kill() {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	d.proc.dead = true
}

// begin locks the directory. name is a full one.
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
		if d.has(name) {
			out = append(out, strings.TrimPrefix(name, d.prefix))
		}
	}
	return out, nil
}

// has reports whether a full name is of a file in this very directory.
func (d *MemDir) has(name string) bool {
	rest, ok := strings.CutPrefix(name, d.prefix)
	return ok && !strings.Contains(rest, "/")
}

// Exists implements Dir.
func (d *MemDir) Exists(name string) (bool, error) {
	name = d.prefix + name
	defer d.m.mu.Unlock()
	if err := d.begin("open", name); err != nil {
		return false, err
	}
	return d.m.names[name] != nil, nil
}

// Open implements Dir.
func (d *MemDir) Open(name string) (Reader, error) {
	name = d.prefix + name
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
	name = d.prefix + name
	defer d.m.mu.Unlock()
	if err := d.begin("create", name); err != nil {
		return nil, err
	}
	if d.m.names[name] != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	}
	d.health.broken = false
	ino := &inode{owner: d.proc}
	d.m.names[name] = ino
	return &memFile{d, ino, name}, nil
}

// Link implements Dir.
func (d *MemDir) Link(from, to string) error {
	from, to = d.prefix+from, d.prefix+to
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
	d.health.broken = false
	d.m.names[to] = ino
	return nil
}

// Remove implements Dir.
func (d *MemDir) Remove(name string) error {
	name = d.prefix + name
	defer d.m.mu.Unlock()
	if err := d.begin("remove", name); err != nil {
		return err
	}
	if d.m.names[name] == nil {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	d.health.broken = false
	delete(d.m.names, name)
	return nil
}

// RemoveStale implements Dir.
func (d *MemDir) RemoveStale(name string) (bool, error) {
	name = d.prefix + name
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
	if err := d.begin("syncdir", d.prefix); err != nil {
		if !errors.Is(err, ErrKilled) {
			d.health.broken = true
			d.health.errors++
			d.seen = d.health.errors
		}
		return err
	}
	if d.seen != d.health.errors {
		d.seen = d.health.errors
		return &fs.PathError{Op: "fsync", Path: ".", Err: syscall.EIO}
	}
	if !d.health.broken {
		d.settle()
	}
	return nil
}

// settle makes this directory's names durable.
func (d *MemDir) settle() {
	for name := range d.m.durable {
		if d.has(name) {
			delete(d.m.durable, name)
		}
	}
	for name, ino := range d.m.names {
		if d.has(name) {
			d.m.durable[name] = ino
		}
	}
}
