package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// Mem is a directory in memory that knows what a power cut would leave of it.
// Several Dirs may be opened on it, one a simulated process. Tests use it.
type Mem struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // names as of the last Sync
	boots   int               // power cuts so far
	// dirBroken: a Sync failed and no name was changed since. As with a file,
	// the next Sync reports success and makes nothing durable; only who had the
	// directory open at the failure gets the error too, once (dirErrors).
	dirBroken bool
	dirErrors int
	// Fail, if set, is asked before every operation; an error fails it. The
	// operation is one of "list", "open", "create", "write", "sync", "link",
	// "remove", "syncdir".
	Fail func(op, name string) error
}

type inode struct {
	data   []byte
	synced []byte // content as of the last File.Sync; nil: never
	broken bool   // a Sync failed: what was unsynced then never becomes durable
	owner  *process
}

// ErrKilled is for Fail: the operation is not done because its process dies in
// it. A Sync that ends so has not failed.
var ErrKilled = errors.New("killed")

// process is one simulated process; locks die with it.
type process struct {
	dead bool
	boot int
}

// NewMem returns an empty directory.
func NewMem() *Mem {
	return &Mem{names: map[string]*inode{}, durable: map[string]*inode{}}
}

// Dir opens the directory as a new process.
func (m *Mem) Dir() *MemDir {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &MemDir{m: m, proc: &process{boot: m.boots}, seen: m.dirErrors}
}

// PowerCut forgets what was not synced: keep decides, for each change that is
// not durable, whether it happened to reach the disk. Every open Dir is dead.
// keep is called in no particular order.
// Content that was never synced survives as garbage of keep's choice.
func (m *Mem) PowerCut(keep func(what string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boots++
	m.dirBroken = false
	after := map[string]*inode{}
	for name, ino := range m.durable {
		if m.names[name] == ino || !keep("removal of "+name) {
			after[name] = ino
		}
	}
	for name, ino := range m.names {
		if m.durable[name] != ino && keep("link "+name) {
			after[name] = ino
		}
	}
	for _, ino := range after {
		ino.cut(keep)
	}
	m.names, m.durable = after, map[string]*inode{}
	for name, ino := range after {
		m.durable[name] = ino
	}
}

func (i *inode) cut(keep func(string) bool) {
	i.owner = nil
	switch {
	case i.synced != nil && len(i.synced) == len(i.data):
	case keep("unsynced content") && !i.broken:
	case keep("half of unsynced content"):
		i.data = i.data[:len(i.synced)+(len(i.data)-len(i.synced))/2]
	default:
		i.data = i.data[:len(i.synced)]
	}
	i.synced = i.data
}

// Bytes returns a file's content, to be read or damaged by a test.
func (m *Mem) Bytes(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ino := m.names[name]; ino != nil {
		return ino.data
	}
	return nil
}

// Put places a durable file.
func (m *Mem) Put(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ino := &inode{data: data, synced: data}
	m.names[name], m.durable[name] = ino, ino
}

// Delete removes a name durably.
func (m *Mem) Delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.names, name)
	delete(m.durable, name)
}

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
