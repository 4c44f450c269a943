package frame

// TimestampKind says what a record's timestamp is.
type TimestampKind uint8

const (
	TimestampNone TimestampKind = iota
	TimestampCreate
	TimestampAppend
)

// Header is a record's header. A nil Value is null, an empty one is empty.
type Header struct {
	Name  string
	Value []byte
}

// Record is one record to be encoded. Nil Key or Value: null; empty: empty.
type Record struct {
	Position      int64
	TimestampMS   int64
	TimestampKind TimestampKind
	Key           []byte
	Value         []byte
	Headers       []Header
}
