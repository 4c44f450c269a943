// Package footer is what a commit of the Parquet log says about itself, in
// the key-value metadata of its file, and how a reader makes sure that what
// it reads was written so. The keys and their JSON are frozen: docs/storage.md.
package footer

import (
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Version is the log's version that this package reads and writes.
const Version = "1"

// Kind says what a commit is for. Readers apply all kinds alike, but for
// Checkpoint, which stands for everything before it.
type Kind string

const (
	// Data has rows, and the spans that they stand for.
	Data Kind = "data"
	// Acquire issues epochs.
	Acquire Kind = "acquire"
	// Record adds coverage without rows.
	Record Kind = "record"
	// Checkpoint holds the whole state at its place in the log.
	Checkpoint Kind = "checkpoint"
)

// Footer is one commit.
type Footer struct {
	// CommitID is random; it settles whether a link whose answer was
	// ambiguous is one's own.
	CommitID [16]byte
	Kind     Kind
	// Spans are held by this commit and by no earlier one; in a checkpoint,
	// all that is held.
	Spans []Span
	Voids []Void
	// Epochs are the current ones of the streams that the commit is about.
	Epochs  []Epoch
	Cursors []sdk.Cursor
	// Rows is the number of rows in the file; set when it was read.
	Rows int64
}

// Span is a held interval of a stream.
type Span struct {
	Stream sdk.Stream
	coverage.Interval
}

// Void is a void interval of a stream.
type Void struct {
	Stream sdk.Stream
	coverage.Void
}

// Epoch is a stream's fence, with the owner's name for people.
type Epoch struct {
	Stream sdk.Stream
	sdk.Epoch
	Owner string
}
