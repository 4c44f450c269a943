package disk

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// Mem is a directory in memory that knows what a power cut would leave of it.
// Several Dirs may be opened on it, one a simulated process. What lies in a
// directory below it has names like "sub/name" here. Tests use it.
type Mem struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // names as of the last Sync
	boots   int               // power cuts so far
	dirs    map[string]*memHealth
	locks   map[string]*memLock
	// Fail, if set, is asked before every operation; an error fails it. The
	// operation is one of "list", "open", "create", "write", "sync", "link",
	// "remove", "syncdir".
	Fail func(op, name string) error
}

// memHealth is one directory's. broken: a Sync failed and no name was changed
// since. As with a file, the next Sync reports success and makes nothing
// durable; only who had the directory open at the failure gets the error too,
// once (errors counts them).
type memHealth struct {
	broken bool
	errors int
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
	return &Mem{names: map[string]*inode{}, durable: map[string]*inode{}, dirs: map[string]*memHealth{}, locks: map[string]*memLock{}}
}

// Dir opens the directory as a new process.
func (m *Mem) Dir() *MemDir {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open("", &process{boot: m.boots})
}

// open opens the directory whose names have a prefix. m.mu is held.
func (m *Mem) open(prefix string, proc *process) *MemDir {
	h := m.dirs[prefix]
	if h == nil {
		h = &memHealth{}
		m.dirs[prefix] = h
	}
	return &MemDir{m: m, proc: proc, prefix: prefix, health: h, seen: h.errors}
}

// PowerCut forgets what was not synced: keep decides, for each change that is
// not durable, whether it happened to reach the disk. Every open Dir is dead.
// keep is called in the order of the names.
// Content that was never synced survives as garbage of keep's choice.
func (m *Mem) PowerCut(keep func(what string) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boots++
	for _, h := range m.dirs {
		h.broken = false
	}
	after := map[string]*inode{}
	for _, name := range slices.Sorted(maps.Keys(m.durable)) {
		if ino := m.durable[name]; m.names[name] == ino || !keep("removal of "+name) {
			after[name] = ino
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.names)) {
		if ino := m.names[name]; m.durable[name] != ino && keep("link "+name) {
			after[name] = ino
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		after[name].cut(keep)
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
