// Package disk is the file layer of the Parquet sink: one directory, and the
// few things that the log does in it. Everything durable goes through it, so
// that tests can cut the power, fill the disk or break a write at any step.
package disk

import "io"

// Dir is one directory. All names are plain file names in it. Methods may be
// called from any goroutine. Errors match fs.ErrNotExist and fs.ErrExist.
type Dir interface {
	// Path is what a person calls the directory.
	Path() string
	// List returns the names of all entries, in no particular order.
	List() ([]string, error)
	// Exists reports whether the name is there.
	Exists(name string) (bool, error)
	// Open opens a file to be read.
	Open(name string) (Reader, error)
	// Create makes a new file; the name must not exist, and must never have
	// been used. While the File is not closed, RemoveStale leaves it alone, in
	// this process and in others. Where RemoveStale came first Create fails.
	Create(name string) (File, error)
	// Link gives a file a second name, or fails if that name exists. It is
	// atomic, and durable only after Sync.
	Link(from, to string) error
	// Remove removes a name. Durable only after Sync.
	Remove(name string) error
	// RemoveStale removes a file unless whoever created it still has it open.
	RemoveStale(name string) (bool, error)
	// Sync makes every change of names that happened before it durable.
	Sync() error
	// Sub opens a directory in this one, making it, durably, if it is missing.
	Sub(name string) (Dir, error)
	// Lock takes a lock that ends with the process at the latest, and leaves
	// note for whoever finds it taken: then lock is nil, and holder is the note
	// of the process that has it (empty, if it has just taken it).
	Lock(name string, note []byte) (lock io.Closer, holder []byte, err error)
	// Close releases the directory.
	Close() error
}

// File is a new file that is being written. One goroutine at a time.
type File interface {
	io.Writer
	// Sync makes the content durable. After an error it must not be called
	// again: what the first call failed to write is gone, and the second may
	// well report success.
	Sync() error
	// Close gives the file up for RemoveStale.
	Close() error
}

// Reader is an open file.
type Reader interface {
	io.ReaderAt
	io.Closer
	Size() int64
}
