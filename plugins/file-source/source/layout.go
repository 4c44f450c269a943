package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/twg-io/twg/plugins/file-source/split"
	"github.com/twg-io/twg/sdk/frame"
)

// layout makes records of what a splitter found. One goroutine uses it, for
// one file after the other.
type layout struct {
	set     *Settings
	split   split.Splitter
	csv     split.CSV
	pointer pointer // to the key, of ndjson

	// Of the file that is being read.
	columns []string
	headers []frame.Header // the header columns, of csv
	key     int            // its column; -1: none
	fields  [][]byte
	text    bytes.Buffer
}

func newLayout(set *Settings) *layout {
	l := &layout{set: set, key: -1, split: split.Lines{SkipBlank: set.Format == "ndjson"}}
	switch {
	case set.Format == "csv":
		l.csv = split.CSV{Delimiter: set.Delimiter[0]}
		l.split = l.csv
		if n, err := strconv.Atoi(set.Key); err == nil && !set.Header {
			l.key = n - 1
		}
	case set.Key != "":
		l.pointer = newPointer(set.Key)
	}
	return l
}

// hasHeader: files begin with the names of their columns.
func (l *layout) hasHeader() bool { return l.set.Format == "csv" && l.set.Header }

// headLines is how many lines identify a file: those up to its first record.
func (l *layout) headLines() int {
	if l.hasHeader() {
		return 2
	}
	return 1
}

// begin takes the header record of a file.
func (l *layout) begin(header []byte) error {
	header = slices.Clone(bytes.TrimPrefix(header, bom))
	l.headers = []frame.Header{{Name: "columns", Value: header}}
	l.columns, l.key = nil, -1
	for i, f := range l.csv.Fields(nil, header) {
		name := string(f)
		if l.set.CSVAs == "json" && slices.Contains(l.columns, name) {
			return fmt.Errorf("there are two columns %q, which csv_as = json cannot tell apart", name)
		}
		if name == "" {
			name = columnName(i)
		}
		l.columns = append(l.columns, name)
		if name == l.set.Key {
			l.key = i
		}
	}
	if l.set.Key != "" && l.key < 0 {
		return fmt.Errorf("there is no column %q, which the setting key names", l.set.Key)
	}
	return nil
}

// columnName is what a column without a name is called.
func columnName(i int) string { return fmt.Sprintf("column_%d", i+1) }

// record makes a record, without its position. It is good until the next one.
func (l *layout) record(r split.Record) (frame.Record, error) {
	if l.set.Format != "csv" {
		rec := frame.Record{Value: r.Value}
		if l.pointer != nil {
			rec.Key = l.pointer.find(r.Value)
		}
		return rec, nil
	}
	rec := frame.Record{Value: r.Value, Headers: l.headers}
	asJSON := l.set.CSVAs == "json"
	if l.key < 0 && !asJSON {
		return rec, nil
	}
	l.fields = l.csv.Fields(l.fields[:0], r.Value)
	if l.key >= 0 && l.key < len(l.fields) {
		rec.Key = append([]byte{}, l.fields[l.key]...)
	}
	if asJSON {
		rec.Headers = nil
		return rec, l.object(&rec)
	}
	return rec, nil
}

// object makes the record's value an object of its fields. Fields that are not
// there are left out.
func (l *layout) object(rec *frame.Record) error {
	if !utf8.Valid(rec.Value) {
		return fmt.Errorf("the record is not UTF-8, which csv_as = json needs")
	}
	l.text.Reset()
	between := byte('{')
	for i, f := range l.fields {
		name := columnName(i)
		if i < len(l.columns) {
			name = l.columns[i]
		}
		l.text.WriteByte(between)
		between = ','
		l.quote(name)
		l.text.WriteByte(':')
		l.quote(string(f))
	}
	l.text.WriteByte('}')
	rec.Value = l.text.Bytes()
	return nil
}

// quote writes a string as JSON has it.
func (l *layout) quote(s string) {
	e := json.NewEncoder(&l.text)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	l.text.Truncate(l.text.Len() - 1)
}
