// Package frame is the layout in which records travel from a source to a
// sink: columns in one run of bytes, so that reading is slicing and nothing
// is allocated per record.
//
// The layout is frozen; docs/frame.md states it to the byte, for writers in
// other languages. In short: a header of 256 bytes, then the buffers, each at
// a multiple of 64 from the frame's start, zeros between them.
//
// A frame is written with a [Builder] and read through a [View]. Null and
// empty are distinct for key, value and header value; headers keep their
// order and their duplicates.
package frame
