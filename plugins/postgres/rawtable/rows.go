package rawtable

import (
	"io"
	"slices"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
)

// Segment is rows [From, To) of one batch's frame, all of one stream.
type Segment struct {
	Batch    *sdk.Batch
	Stream   copyrow.Stream
	From, To int
}

// Rows is a list of rows, by reference: nothing of a frame is copied before it
// is encoded.
type Rows []Segment

// Len counts the rows.
func (r Rows) Len() int {
	n := 0
	for _, s := range r {
		n += s.To - s.From
	}
	return n
}

// Slice is rows [from, to).
func (r Rows) Slice(from, to int) Rows {
	var out Rows
	for _, s := range r {
		n := s.To - s.From
		a, b := min(max(from, 0), n), min(max(to, 0), n)
		if a < b {
			out = append(out, Segment{s.Batch, s.Stream, s.From + a, s.From + b})
		}
		from, to = from-n, to-n
	}
	return out
}

// At returns row i's segment, and its place in the frame.
func (r Rows) At(i int) (Segment, int) {
	for _, s := range r {
		if n := s.To - s.From; i < n {
			return s, s.From + i
		} else {
			i -= n
		}
	}
	panic("rawtable: row out of range")
}

// chunk is how much is encoded ahead of what the connection has taken.
const chunk = 64 << 10

// encoder is the COPY stream of rows, encoded as it is read.
type encoder struct {
	rows  Rows
	buf   []byte
	at    int // read so far
	ended bool
}

// reset begins the stream of rows. The buffer is kept.
func (e *encoder) reset(rows Rows) {
	*e = encoder{rows: slices.Clone(rows), buf: append(e.buf[:0], copyrow.Header...)}
}

// Read implements io.Reader.
func (e *encoder) Read(p []byte) (int, error) {
	if e.at == len(e.buf) {
		if e.ended {
			faultpoint.Hit("copying") // all rows are on their way, the end of the COPY is not
			return 0, io.EOF
		}
		e.fill()
	}
	n := copy(p, e.buf[e.at:])
	e.at += n
	return n, nil
}

func (e *encoder) fill() {
	if e.at > 0 {
		e.buf, e.at = e.buf[:0], 0
	}
	for len(e.buf) < chunk && len(e.rows) > 0 {
		s := &e.rows[0]
		for ; s.From < s.To && len(e.buf) < chunk; s.From++ {
			e.buf = copyrow.Append(e.buf, s.Stream, s.Batch.Frame, s.From, s.Batch.IDs[16*s.From:])
		}
		if s.From == s.To {
			e.rows = e.rows[1:]
		}
	}
	if len(e.rows) == 0 {
		e.buf, e.ended = append(e.buf, copyrow.Trailer...), true
	}
}
