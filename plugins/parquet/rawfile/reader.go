package rawfile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

// File reads rows of a file back. Not safe for concurrent use.
type File struct{ pq *parquet.File }

// OpenFile opens a file of size bytes. The reader stays the caller's.
func OpenFile(r io.ReaderAt, size int64) (*File, error) {
	pq, err := parquet.OpenFile(r, size, parquet.SkipBloomFilters(true), parquet.FileSchema(schema))
	if err != nil {
		return nil, err
	}
	if got := len(pq.Metadata().Schema); got != len(wantElements) {
		return nil, fmt.Errorf("it has %d elements in its schema, and raw files have %d", got, len(wantElements))
	}
	for i, e := range pq.Metadata().Schema {
		if e.Name != wantElements[i] && i > 0 {
			return nil, fmt.Errorf("column %d is %q, and raw files have %q there", i, e.Name, wantElements[i])
		}
	}
	return &File{pq}, nil
}

// wantElements are the names in a raw file's schema; the first is the root's,
// which may be anything.
var wantElements = []string{"", "_twg_record_id", "cluster", "topic", "incarnation", "partition", "position", "timestamp_ms",
	"key", "value", "headers", "list", "element", "name", "value"}

// ref is where a row is.
type ref struct {
	position int64
	group    int
	row      int64 // in the row group
}

// Rows calls f for each row of stream s in the interval, ascending by
// position. The record and id are good until f returns. Memory is some pages a
// column, and 32 bytes for each row that is read.
func (f *File) Rows(ctx context.Context, s frame.Stream, in coverage.Interval, each func(r *frame.Record, id []byte) error) error {
	refs, err := f.find(ctx, s, in)
	if err != nil {
		return err
	}
	for len(refs) > 0 {
		n := 1
		for n < len(refs) && refs[n].group == refs[0].group && refs[n].row > refs[n-1].row {
			n++
		}
		if err := f.read(refs[:n], each); err != nil {
			return err
		}
		refs = refs[n:]
	}
	return nil
}

// find returns the rows of s in the interval, by position.
func (f *File) find(ctx context.Context, s frame.Stream, in coverage.Interval) ([]ref, error) {
	var out []ref
	for g, rg := range f.pq.RowGroups() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if out, err = findIn(out, g, rg, s, in); err != nil {
			return nil, err
		}
	}
	if !slices.IsSortedFunc(out, byPosition) {
		slices.SortFunc(out, byPosition)
	}
	for i := 1; i < len(out); i++ {
		if out[i].position == out[i-1].position {
			return nil, fmt.Errorf("position %d of %s is there twice", out[i].position, s)
		}
	}
	return out, nil
}

func byPosition(a, b ref) int { return cmp.Compare(a.position, b.position) }

// match is a condition that a row's column must meet.
type match struct {
	test func(v parquet.Value) bool
	cur  *cursor
}

// findIn adds the rows of one row group. What the bounds of a column already
// say of all rows is not read.
func findIn(out []ref, g int, rg parquet.RowGroup, s frame.Stream, in coverage.Interval) ([]ref, error) {
	chunks := rg.ColumnChunks()
	position := chunks[colPosition]
	if lo, hi, ok := bounds(position); ok && (hi.Int64() < in.From || lo.Int64() >= in.Next) {
		return out, nil
	}
	var tests []*match
	defer func() {
		for _, m := range tests {
			m.cur.close()
		}
	}()
	for _, w := range []struct {
		col  int
		want parquet.Value
	}{{colCluster, text(s.Cluster, colCluster)}, {colTopic, text(s.Topic, colTopic)}, {colIncarnation, text(s.Incarnation, colIncarnation)}, {colPartition, parquet.Int32Value(s.Partition)}} {
		typ := chunks[w.col].Type()
		lo, hi, ok := bounds(chunks[w.col])
		if ok && (typ.Compare(w.want, lo) < 0 || typ.Compare(w.want, hi) > 0) {
			return out, nil
		}
		if ok && typ.Compare(lo, hi) == 0 {
			continue
		}
		test := func(v parquet.Value) bool { return bytes.Equal(v.ByteArray(), w.want.ByteArray()) }
		if w.col == colPartition {
			test = func(v parquet.Value) bool { return v.Int32() == w.want.Int32() }
		}
		tests = append(tests, &match{test: test, cur: newCursor(chunks[w.col])})
	}
	positions := newCursor(position)
	defer positions.close()
	return scan(out, g, rg.NumRows(), in, positions, tests)
}

// bounds are a column chunk's smallest and largest value, where it says. They
// are whole: the writer never cuts them short.
func bounds(c parquet.ColumnChunk) (lo, hi parquet.Value, ok bool) {
	if b, has := c.(interface {
		Bounds() (lo, hi parquet.Value, ok bool)
	}); has {
		return b.Bounds()
	}
	return lo, hi, false
}

func scan(out []ref, g int, rows int64, in coverage.Interval, positions *cursor, tests []*match) ([]ref, error) {
	for row := range rows {
		v, err := positions.one(row)
		if err != nil {
			return nil, err
		}
		p := v.Int64()
		if p < in.From || p >= in.Next {
			continue
		}
		ok := true
		for _, m := range tests {
			v, err := m.cur.one(row)
			if err != nil {
				return nil, err
			}
			if ok = m.test(v); !ok {
				break
			}
		}
		if ok {
			out = append(out, ref{p, g, row})
		}
	}
	return out, nil
}

// read reads rows of one row group, ascending.
func (f *File) read(refs []ref, each func(r *frame.Record, id []byte) error) error {
	chunks := f.pq.RowGroups()[refs[0].group].ColumnChunks()
	rd := rowReader{}
	for i, col := range []int{colID, colTimestamp, colKey, colValue, colHeaderName, colHeaderValue} {
		rd.cur[i] = newCursor(chunks[col])
		defer rd.cur[i].close()
	}
	for _, r := range refs {
		if err := rd.row(r.row); err != nil {
			return err
		}
		rd.rec.Position = r.position
		if err := each(&rd.rec, rd.id); err != nil {
			return err
		}
	}
	return nil
}

// rowReader puts rows together from their columns.
type rowReader struct {
	cur [6]*cursor
	rec frame.Record
	id  []byte
}

func (rd *rowReader) row(row int64) error {
	var v [4]parquet.Value
	for i := range v {
		var err error
		if v[i], err = rd.cur[i].one(row); err != nil {
			return err
		}
	}
	rd.id = v[0].ByteArray()
	if len(rd.id) != 16 {
		return fmt.Errorf("row %d has a record id of %d bytes", row, len(rd.id))
	}
	rd.rec.TimestampMS, rd.rec.Key, rd.rec.Value = v[1].Int64(), orNull(v[2]), orNull(v[3])
	return rd.headers(row)
}

// headers: a name with definition level 0 means that there is none.
func (rd *rowReader) headers(row int64) error {
	names, err := rd.cur[4].all(row)
	if err != nil {
		return err
	}
	values, err := rd.cur[5].all(row)
	if err != nil {
		return err
	}
	rd.rec.Headers = rd.rec.Headers[:0]
	if len(names) != len(values) {
		return fmt.Errorf("row %d has %d header names and %d values", row, len(names), len(values))
	}
	for i, n := range names {
		if n.DefinitionLevel() > 0 {
			rd.rec.Headers = append(rd.rec.Headers, frame.Header{Name: string(n.ByteArray()), Value: orNull(values[i])})
		}
	}
	return nil
}

// orNull: null is nil, and an empty value is not.
func orNull(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	if b := v.ByteArray(); b != nil {
		return b
	}
	return []byte{}
}
