package split

import "bytes"

// CSV are records as RFC 4180 has them: fields may stand in quotes, and then
// hold delimiters, line ends and doubled quotes. A quote opens a field only as
// its first byte; elsewhere it is a byte like any other. A record ends with a
// newline, or a carriage return and a newline. Blank lines are no records.
type CSV struct {
	// Delimiter stands between fields. It is neither a quote nor a line end.
	Delimiter byte
}

const quote = '"'

// Next implements Splitter.
func (c CSV) Next(b []byte) (Record, bool) {
	end, _ := c.end(b)
	if end < 0 {
		return Record{}, false
	}
	return c.record(b[:end], end+1), true
}

// Last implements Splitter. A quote that is not closed makes no record.
func (c CSV) Last(b []byte) (Record, bool) {
	end, open := c.end(b)
	if open || end >= 0 {
		return Record{}, false
	}
	return c.record(b, len(b)), true
}

func (c CSV) record(line []byte, n int) Record {
	line = bytes.TrimSuffix(line, []byte("\r"))
	return Record{Value: line, Len: n, Skip: len(line) == 0}
}

// end is where the record's newline stands, or -1; open: inside of quotes.
func (c CSV) end(b []byte) (at int, open bool) {
	for i := 0; i < len(b); {
		if b[i] == quote {
			n := closing(b[i+1:])
			if n < 0 {
				return -1, true
			}
			i += n + 2
		}
		stop := bytes.IndexByte(b[i:], '\n')
		line := b[i:]
		if stop >= 0 {
			line = b[i : i+stop]
		}
		next := bytes.IndexByte(line, c.Delimiter)
		if next < 0 {
			if stop < 0 {
				return -1, false
			}
			return i + stop, false
		}
		i += next + 1
	}
	return -1, false
}

// closing is where a quoted field ends, from its first byte on, or -1.
func closing(b []byte) int {
	for i := 0; ; i += 2 {
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return -1
		}
		i += n
		if i+1 == len(b) || b[i+1] != quote {
			return i
		}
	}
}

// Fields appends the fields of a record (without its line end) to dst. A field
// without quotes lies in the record.
func (c CSV) Fields(dst [][]byte, record []byte) [][]byte {
	for {
		field, rest, more := c.field(record)
		dst = append(dst, field)
		if !more {
			return dst
		}
		record = rest
	}
}

func (c CSV) field(b []byte) (field, rest []byte, more bool) {
	if len(b) == 0 || b[0] != quote {
		return bytes.Cut(b, []byte{c.Delimiter})
	}
	n := closing(b[1:])
	if n < 0 { // it came without its end; Next would not have let it pass
		n = len(b) - 1
	}
	field = bytes.ReplaceAll(b[1:1+n], []byte{quote, quote}, []byte{quote})
	tail, rest, more := bytes.Cut(b[min(n+2, len(b)):], []byte{c.Delimiter})
	return append(field, tail...), rest, more // what follows the quotes is kept
}
