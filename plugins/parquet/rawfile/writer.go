package rawfile

import (
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk/frame"
)

// RowGroupBytes: a row group ends after so many bytes of rows, whatever the
// number of rows: its compressed pages are held in memory until it ends.
const RowGroupBytes = 64 << 20

// WriterBytes is about what a Writer has besides: a chunk's values and a page
// for each column, what compresses them, and the file's end.
const WriterBytes = 12 << 20

// Rows are given to the column writers in chunks, since a page can end only
// between two calls. A column's buffer grows by copying, from nothing in each
// page: a page that one chunk fills is not copied at all.
const (
	chunkRows  = 4096
	chunkBytes = 1 << 20
	pageBytes  = 512 << 10
)

// rowOverhead is what the fixed columns add to a row's estimated size.
const rowOverhead = 48

// Options of a Writer.
type Options struct {
	Codec        compress.Codec
	RowGroupRows int
}

// Writer writes one file after the other and reuses its memory. After an
// error it must be given up. Not safe for concurrent use.
type Writer struct {
	opt  Options
	out  output
	pq   *parquet.Writer
	cols [numColumns][]parquet.Value

	rows       int64
	bytes      int64
	groupRows  int
	groupBytes int64
}

var schema = parquet.SchemaOf(new(Row))

// NewWriter returns a writer; Reset begins its first file.
func NewWriter(opt Options) *Writer {
	w := &Writer{opt: opt}
	w.pq = parquet.NewWriter(&w.out, schema,
		parquet.Compression(opt.Codec),
		parquet.DataPageVersion(1),
		parquet.DataPageStatistics(false),
		parquet.PageBufferSize(pageBytes),
		parquet.WriteBufferSize(0),
		parquet.SkipPageBounds("key"),
		parquet.SkipPageBounds("value"),
		parquet.SkipPageBounds("headers", "list", "element", "name"),
		parquet.SkipPageBounds("headers", "list", "element", "value"),
		parquet.CreatedBy("twg", "1", ""))
	return w
}

// Reset begins a new file.
func (w *Writer) Reset(to io.Writer) {
	w.out.reset(to)
	w.pq.Reset(&w.out)
	w.rows, w.bytes, w.groupRows, w.groupBytes = 0, 0, 0, 0
}

// Rows is the number of rows of the file; Bytes is their estimated size
// before compression.
func (w *Writer) Rows() int64  { return w.rows }
func (w *Writer) Bytes() int64 { return w.bytes }

// Append adds the frame's rows [from, to), all of stream s. ids holds the
// record ids of all rows of the frame. Nothing of v is kept.
func (w *Writer) Append(v frame.View, ids []byte, s frame.Stream, from, to int) error {
	st := streamValues(s)
	for from < to {
		room := w.opt.RowGroupRows - w.groupRows
		n, size := w.chunk(v, ids, &st, from, min(to, from+room))
		if err := w.flushChunk(); err != nil {
			return err
		}
		from += n
		w.rows += int64(n)
		w.bytes += size
		w.groupRows += n
		w.groupBytes += size
		if w.groupRows >= w.opt.RowGroupRows || w.groupBytes >= RowGroupBytes {
			if err := w.endRowGroup(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Finish completes the file. f's checksums are of what was really written.
func (w *Writer) Finish(f *footer.Footer) error {
	if err := w.endRowGroup(); err != nil {
		return err
	}
	for _, kv := range f.Encode() {
		w.pq.SetKeyValueMetadata(kv.Key, kv.Value)
	}
	w.out.hold()
	if err := w.pq.Close(); err != nil {
		return err
	}
	return w.out.seal()
}

func (w *Writer) endRowGroup() error {
	w.groupRows, w.groupBytes = 0, 0
	return w.pq.Flush()
}

// flushChunk gives the collected values to the column writers.
func (w *Writer) flushChunk() error {
	for i, cw := range w.pq.ColumnWriters() {
		if _, err := cw.WriteRowValues(w.cols[i]); err != nil {
			return err
		}
		w.cols[i] = w.cols[i][:0]
	}
	return nil
}

// Empty writes a file of no rows.
func Empty(to io.Writer, f *footer.Footer) error {
	w := NewWriter(Options{Codec: &parquet.Uncompressed, RowGroupRows: 1})
	w.Reset(to)
	return w.Finish(f)
}
