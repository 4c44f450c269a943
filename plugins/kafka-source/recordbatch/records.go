package recordbatch

import (
	"encoding/binary"
	"fmt"
)

// Header is a record's header. A nil Value is null.
type Header struct {
	Name  []byte
	Value []byte
}

// Record is one record. Key, Value and Headers refer to the payload that it
// was read from; nil is null, empty is empty.
type Record struct {
	Offset      int64
	TimestampMS int64
	Key         []byte
	Value       []byte
	Headers     []Header
}

// Reader walks over the records of one batch. Its memory is used again by the
// next Reset. Not safe for concurrent use.
type Reader struct {
	batch   *Batch
	in      []byte
	left    int
	rec     Record
	headers []Header
	err     error
}

// Reset begins with payload, which is b.Payload decompressed.
func (r *Reader) Reset(b *Batch, payload []byte) {
	r.batch, r.in, r.left, r.err = b, payload, b.Records, nil
}

// Next returns the next record, or nil at the end or after an error. It is
// good until the next call.
func (r *Reader) Next() *Record {
	if r.left == 0 || r.err != nil {
		return nil
	}
	r.left--
	if err := r.record(); err != nil {
		r.err = fmt.Errorf("read record %d of %d of the batch at offset %d: %w", r.batch.Records-r.left, r.batch.Records, r.batch.First, err)
		return nil
	}
	return &r.rec
}

// Err is what ended the walk early; nil: nothing did.
func (r *Reader) Err() error { return r.err }

func (r *Reader) record() error {
	c := cursor{in: r.in}
	length := c.varint()
	if c.bad || length < 0 || length > int64(len(c.in)) {
		return fmt.Errorf("its length of %d bytes passes the batch's end", length)
	}
	r.in = c.in[length:]
	c.in = c.in[:length]
	c.byte() // attributes, unused
	timestamp, offset := c.varint(), c.varint()
	r.rec.Offset = r.batch.First + offset
	r.rec.TimestampMS = r.batch.firstTimestamp + timestamp
	if r.batch.LogAppendTime() {
		r.rec.TimestampMS = r.batch.maxTimestamp
	}
	r.rec.Key = c.bytes()
	r.rec.Value = c.bytes()
	r.readHeaders(&c)
	switch {
	case c.bad:
		return fmt.Errorf("its fields pass its end")
	case offset < 0 || r.rec.Offset >= r.batch.Next:
		return fmt.Errorf("its offset %d lies outside of the batch", r.rec.Offset)
	}
	return nil
}

func (r *Reader) readHeaders(c *cursor) {
	r.headers = r.headers[:0]
	n := c.varint()
	// A header takes two bytes or more: what the record has no bytes for is
	// refused before anything is allocated.
	if n < 0 || n > int64(len(c.in)/2) {
		c.bad = c.bad || n != 0
		n = 0
	}
	for range n {
		name := c.bytes()
		if name == nil {
			c.bad = true
		}
		r.headers = append(r.headers, Header{name, c.bytes()})
	}
	r.rec.Headers = r.headers
}

// cursor reads fields; bad says that one passed the end.
type cursor struct {
	in  []byte
	bad bool
}

func (c *cursor) byte() {
	if len(c.in) == 0 {
		c.bad = true
		return
	}
	c.in = c.in[1:]
}

func (c *cursor) varint() int64 {
	if len(c.in) > 0 && c.in[0] < 0x80 { // nearly all are one byte
		u := c.in[0]
		c.in = c.in[1:]
		return int64(u>>1) ^ -int64(u&1)
	}
	v, n := binary.Varint(c.in)
	if n <= 0 {
		c.bad, c.in = true, nil
		return 0
	}
	c.in = c.in[n:]
	return v
}

// bytes reads a length and as many bytes; a length of -1 is null.
func (c *cursor) bytes() []byte {
	n := c.varint()
	if n == -1 && !c.bad {
		return nil
	}
	if n < 0 || n > int64(len(c.in)) {
		c.bad, c.in = true, nil
		return nil
	}
	b := c.in[:n:n]
	c.in = c.in[n:]
	return b
}
