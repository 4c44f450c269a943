package rawread

import (
	"errors"
	"fmt"

	"github.com/twg-io/twg/sdk/frame"
)

// columns are what Read asks for, in that order, in binary.
const columns = `"_twg_record_id", "position", "timestamp_ms", "key", "value", "headers"`

const numColumns = 6

// decode reads a row into r. The slices lie in cols. A null is nil, an empty
// field is not.
func decode(cols [][]byte, r *frame.Record) (id []byte, err error) {
	if len(cols) != numColumns || len(cols[0]) != 16 || len(cols[1]) != 8 || len(cols[2]) != 8 {
		return nil, errors.New("the server sent a row of another form")
	}
	r.Position, r.TimestampMS = int64(be.Uint64(cols[1])), int64(be.Uint64(cols[2]))
	r.Key, r.Value = cols[3], cols[4]
	if r.Headers, err = decodeHeaders(cols[5], r.Headers[:0]); err != nil {
		return nil, fmt.Errorf("headers of position %d: %w", r.Position, err)
	}
	return cols[0], nil
}

var errHeaders = errors.New("they are not rows of a name and a value, as bytea[][]")

const (
	oidBytea = 17
	null     = 0xffffffff
)

// decodeHeaders reads a bytea[][] of rows {name, value}, in PostgreSQL's binary
// form: dimensions, flags, type, size and lower bound of each dimension, and
// then the elements, each with its length. None at all is null, or an array
// without a dimension.
func decodeHeaders(b []byte, out []frame.Header) ([]frame.Header, error) {
	if b == nil {
		return out, nil
	}
	d := reader{b: b}
	dims, _, typ := d.u32(), d.u32(), d.u32()
	if dims == 0 && !d.bad && typ == oidBytea {
		return out, nil
	}
	n, _, two, _ := d.u32(), d.u32(), d.u32(), d.u32()
	if d.bad || dims != 2 || typ != oidBytea || two != 2 || uint64(n)*8 > uint64(len(d.b)) {
		return out, errHeaders
	}
	for range n {
		name, value := d.field(), d.field()
		if d.bad || name == nil {
			return out, errHeaders
		}
		out = append(out, frame.Header{Name: string(name), Value: value})
	}
	if len(d.b) > 0 {
		return out, errHeaders
	}
	return out, nil
}

// reader takes fields off b; bad: there was less than that.
type reader struct {
	b   []byte
	bad bool
}

func (d *reader) u32() uint32 {
	if len(d.b) < 4 {
		d.bad = true
		return 0
	}
	n := be.Uint32(d.b)
	d.b = d.b[4:]
	return n
}

// field is a length and the bytes; nil: null.
func (d *reader) field() []byte {
	n := d.u32()
	if n == null || d.bad {
		return nil
	}
	if uint64(n) > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	f := d.b[:n:n]
	d.b = d.b[n:]
	return f
}
