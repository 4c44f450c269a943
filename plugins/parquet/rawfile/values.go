package rawfile

import (
	"unsafe"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/sdk/frame"
)

// streamCells are the values that all rows of a stream share.
type streamCells struct{ cluster, topic, incarnation, partition parquet.Value }

func streamValues(s frame.Stream) streamCells {
	return streamCells{
		cluster:     text(s.Cluster, colCluster),
		topic:       text(s.Topic, colTopic),
		incarnation: text(s.Incarnation, colIncarnation),
		partition:   parquet.Int32Value(s.Partition).Level(0, 0, colPartition),
	}
}

func text(s string, col int) parquet.Value {
	return parquet.ByteArrayValue(bytesOf(s)).Level(0, 0, col)
}

// bytesOf views a string as bytes; the column writers only copy them.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// chunk collects rows from `from` on, until it is full, and returns how many
// and their size.
func (w *Writer) chunk(v frame.View, ids []byte, st *streamCells, from, to int) (n int, size int64) {
	for i := from; i < to && n < chunkRows && size < chunkBytes; i++ {
		size += w.row(v, ids, st, i)
		n++
	}
	return n, size
}

// row collects one row and returns its size.
func (w *Writer) row(v frame.View, ids []byte, st *streamCells, i int) int64 {
	c := &w.cols
	key, value := v.Key(i), v.Value(i)
	c[colID] = append(c[colID], parquet.FixedLenByteArrayValue(ids[i*16:i*16+16]).Level(0, 0, colID))
	c[colCluster] = append(c[colCluster], st.cluster)
	c[colTopic] = append(c[colTopic], st.topic)
	c[colIncarnation] = append(c[colIncarnation], st.incarnation)
	c[colPartition] = append(c[colPartition], st.partition)
	c[colPosition] = append(c[colPosition], parquet.Int64Value(v.Position(i)).Level(0, 0, colPosition))
	c[colTimestamp] = append(c[colTimestamp], parquet.Int64Value(v.TimestampMS(i)).Level(0, 0, colTimestamp))
	c[colKey] = append(c[colKey], optional(key, 0, 0, colKey))
	c[colValue] = append(c[colValue], optional(value, 0, 0, colValue))
	return int64(rowOverhead+len(key)+len(value)) + w.headers(v, i)
}

// headers collects a row's headers: one entry with levels 0, 0 if there are
// none, else one each, of which all but the first repeat.
func (w *Writer) headers(v frame.View, i int) (size int64) {
	names, values := &w.cols[colHeaderName], &w.cols[colHeaderValue]
	from, to := v.Headers(i)
	if from == to {
		*names = append(*names, parquet.NullValue().Level(0, 0, colHeaderName))
		*values = append(*values, parquet.NullValue().Level(0, 0, colHeaderValue))
		return 0
	}
	for h := from; h < to; h++ {
		rep := min(h-from, 1)
		name, value := v.HeaderName(h), v.HeaderValue(h)
		*names = append(*names, parquet.ByteArrayValue(bytesOf(name)).Level(rep, 1, colHeaderName))
		*values = append(*values, optional(value, rep, 1, colHeaderValue))
		size += int64(len(name) + len(value))
	}
	return size
}

// optional is a value that may be null: nil is, an empty slice is not. def is
// the definition level of null.
func optional(b []byte, rep, def, col int) parquet.Value {
	if b == nil {
		return parquet.NullValue().Level(rep, def, col)
	}
	return parquet.ByteArrayValue(b).Level(rep, def+1, col)
}
