package linklog

import "io"

// Codec is what the commits of a log are, and the state that they add up to.
// A Log calls it while it holds its lock; a codec whose state is read beside
// the Log's calls has a lock of its own in Reset and Apply.
type Codec[C any] interface {
	// Suffix ends the commits' names.
	Suffix() string
	// Read reads a commit of size bytes. An error says what is wrong with the
	// file, not which file it is.
	Read(r io.ReaderAt, size int64) (C, error)
	// Write writes a commit that has no data besides.
	Write(w io.Writer, c C) error
	// ID is random, and settles whether a link whose answer was ambiguous is
	// one's own.
	ID(c C) [16]byte
	// IsCheckpoint: c holds the whole state.
	IsCheckpoint(c C) bool
	// Reset empties the state.
	Reset()
	// Apply adds a commit. An error means that it cannot have been written by
	// the rules, and leaves the state undefined.
	Apply(c C) error
	// Whole is the state as a checkpoint, with an ID of its own.
	Whole() C
	// Repair says what a person can do about a file that is lost or damaged:
	// the end of a sentence that begins with "restore the file from a backup".
	Repair() string
}
