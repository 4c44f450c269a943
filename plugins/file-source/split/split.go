// Package split finds the records in the bytes of a file.
package split

import "bytes"

// Record is one record's place in the bytes that were looked at.
type Record struct {
	// Value is the record without its line end. It lies in those bytes.
	Value []byte
	// Len is how many bytes belong to it, with its line end.
	Len int
	// Skip: it is no record (a blank line); its bytes belong to the span only.
	Skip bool
}

// Splitter finds the record that begins at the first byte of b. ok is false
// if b does not hold all of it; then more bytes are needed, or, if there will
// be none, Last has what is left. A Splitter keeps nothing between calls.
type Splitter interface {
	Next(b []byte) (r Record, ok bool)
	// Last takes what is left at the end of a file, without a line end. ok is
	// false if that cannot be a record.
	Last(b []byte) (r Record, ok bool)
}

// Lines are records that end with a newline, and with nothing else: a carriage
// return before it belongs to the record.
type Lines struct {
	// SkipBlank leaves out lines of nothing but white space.
	SkipBlank bool
}

// Next implements Splitter.
func (l Lines) Next(b []byte) (Record, bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return Record{}, false
	}
	return l.record(b[:i], i+1), true
}

// Last implements Splitter.
func (l Lines) Last(b []byte) (Record, bool) { return l.record(b, len(b)), true }

func (l Lines) record(line []byte, n int) Record {
	return Record{Value: line, Len: n, Skip: l.SkipBlank && len(bytes.TrimSpace(line)) == 0}
}
