package readback

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/parquet-go/parquet-go"

	"github.com/twg-io/twg/test/faults/verify"
)

// File is one visible file of the log.
type File struct {
	Name string
	Rows []verify.Row
	// Spans and Voids are what the file adds. A checkpoint adds nothing: its
	// State is all that is held at its place in the log.
	Spans, Voids []verify.Span
	Checkpoint   bool
	State        []verify.Span
}

// Parquet reads a file whole. An error means that it is not complete.
func Parquet(path string) (File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return File{}, fmt.Errorf("open %s: %w", name, err)
	}
	out := File{Name: name}
	c, err := footer(f, name)
	if err != nil {
		return out, err
	}
	if out.Checkpoint = c.kind == "checkpoint"; out.Checkpoint {
		out.State = c.spans
	} else {
		out.Spans, out.Voids = c.spans, c.voids
	}
	for _, g := range f.RowGroups() {
		if err := readGroup(g, columnsOf(f.Schema()), &out.Rows); err != nil {
			return out, fmt.Errorf("read %s: %w", name, err)
		}
	}
	if int64(len(out.Rows)) != f.NumRows() {
		return out, fmt.Errorf("read %s: %d rows, its footer says %d", name, len(out.Rows), f.NumRows())
	}
	return out, nil
}

// column says where a leaf's values go.
type column struct {
	name   string // "key", "headers.value"
	maxDef int
}

// columnsOf names the leaves by their first part and, for headers, their last,
// so that the way in which a list is spelled does not matter.
func columnsOf(s *parquet.Schema) []column {
	var out []column
	for _, path := range s.Columns() {
		leaf, _ := s.Lookup(path...)
		name := path[0]
		if len(path) > 1 {
			name += "." + path[len(path)-1]
		}
		out = append(out, column{name, leaf.MaxDefinitionLevel})
	}
	return out
}

func readGroup(g parquet.RowGroup, columns []column, rows *[]verify.Row) error {
	r := g.Rows()
	defer r.Close()
	buf := make([]parquet.Row, 64)
	for {
		n, err := r.ReadRows(buf)
		for _, raw := range buf[:n] {
			row, rerr := makeRow(raw, columns)
			if rerr != nil {
				return rerr
			}
			*rows = append(*rows, row)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func makeRow(raw parquet.Row, columns []column) (verify.Row, error) {
	var row verify.Row
	var names []string
	var values [][]byte
	for _, v := range raw {
		c := columns[v.Column()]
		switch c.name {
		case "_twg_record_id":
			copy(row.ID[:], v.ByteArray())
		case "cluster":
			row.Cluster = string(v.ByteArray())
		case "topic":
			row.Topic = string(v.ByteArray())
		case "incarnation":
			row.Incarnation = string(v.ByteArray())
		case "partition":
			row.Partition = int32(v.Int64())
		case "position":
			row.Position = v.Int64()
		case "timestamp_ms":
			row.TimestampMS = v.Int64()
		case "key":
			row.Key = bytesOf(v, c)
		case "value":
			row.Value = bytesOf(v, c)
		case "headers.name", "headers.key":
			if v.DefinitionLevel() == c.maxDef {
				names = append(names, string(v.ByteArray()))
			}
		case "headers.value":
			values = append(values, bytesOf(v, c))
		}
	}
	if len(names) > 0 && len(values) != len(names) {
		return row, fmt.Errorf("%s: %d header names, %d values", row.Place, len(names), len(values))
	}
	for i, name := range names {
		row.Headers = append(row.Headers, verify.Header{Name: name, Value: values[i]})
	}
	return row, nil
}

// bytesOf tells null from empty and copies: the reader reuses its pages.
func bytesOf(v parquet.Value, c column) []byte {
	if v.DefinitionLevel() < c.maxDef {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}
