package main

import (
	"fmt"
	"unsafe"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The leaf columns, in the order of the schema.
const (
	colID = iota
	colCluster
	colTopic
	colIncarnation
	colPartition
	colPosition
	colTimestamp
	colKey
	colValue
	colHeaderName
	colHeaderValue
	numColumns
)

// row is the product's raw schema.
type row struct {
	ID          [16]byte `parquet:"_twg_record_id,uuid,plain"`
	Cluster     string   `parquet:"cluster,dict"`
	Topic       string   `parquet:"topic,dict"`
	Incarnation string   `parquet:"incarnation,dict"`
	Partition   int32    `parquet:"partition,plain"`
	Position    int64    `parquet:"position,plain"`
	TimestampMS int64    `parquet:"timestamp_ms,plain"`
	Key         []byte   `parquet:"key,optional,plain"`
	Value       []byte   `parquet:"value,optional,plain"`
	Headers     []header `parquet:"headers,list"`
}

type header struct {
	Name  []byte `parquet:"name,plain"`
	Value []byte `parquet:"value,optional,plain"`
}

var schema = parquet.SchemaOf(new(row))

// columns turns records into column values. Its memory is reused.
type columns struct {
	values                      [numColumns][]parquet.Value
	ids                         []byte
	cluster, topic, incarnation parquet.Value
	makers                      map[int32]*idMaker
	reader                      *reader
}

func newColumns(r *reader) *columns {
	str := func(s string, col int) parquet.Value { return parquet.ByteArrayValue([]byte(s)).Level(0, 0, col) }
	return &columns{
		cluster: str(r.cluster, colCluster), topic: str(r.topic, colTopic), incarnation: str(r.incarnation, colIncarnation),
		makers: map[int32]*idMaker{}, reader: r,
	}
}

// fill replaces what c holds by the rows of records.
func (c *columns) fill(records []*kgo.Record) {
	for i := range c.values {
		c.values[i] = c.values[i][:0]
	}
	if need := 16 * len(records); cap(c.ids) < need {
		c.ids = make([]byte, 0, need)
	}
	c.ids = c.ids[:0]
	for _, r := range records {
		c.add(r)
	}
}

func (c *columns) add(r *kgo.Record) {
	id := c.maker(r.Partition).id(r.Offset, r.Value)
	c.ids = append(c.ids, id[:]...)
	c.put(colID, parquet.FixedLenByteArrayValue(c.ids[len(c.ids)-16:]).Level(0, 0, colID))
	c.put(colCluster, c.cluster)
	c.put(colTopic, c.topic)
	c.put(colIncarnation, c.incarnation)
	c.put(colPartition, parquet.Int32Value(r.Partition).Level(0, 0, colPartition))
	c.put(colPosition, parquet.Int64Value(r.Offset).Level(0, 0, colPosition))
	c.put(colTimestamp, parquet.Int64Value(r.Timestamp.UnixMilli()).Level(0, 0, colTimestamp))
	c.put(colKey, optional(r.Key, 0, 0, colKey))
	c.put(colValue, optional(r.Value, 0, 0, colValue))
	c.addHeaders(r.Headers)
}

func (c *columns) addHeaders(headers []kgo.RecordHeader) {
	if len(headers) == 0 {
		c.put(colHeaderName, parquet.NullValue().Level(0, 0, colHeaderName))
		c.put(colHeaderValue, parquet.NullValue().Level(0, 0, colHeaderValue))
		return
	}
	for i := range headers {
		rep := min(i, 1)
		c.put(colHeaderName, parquet.ByteArrayValue(bytesOf(headers[i].Key)).Level(rep, 1, colHeaderName))
		c.put(colHeaderValue, optional(headers[i].Value, rep, 1, colHeaderValue))
	}
}

func (c *columns) put(col int, v parquet.Value) { c.values[col] = append(c.values[col], v) }

// bytesOf is s without a copy; nobody writes to it.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// optional is a byte array, or null one definition level below it.
func optional(b []byte, rep, def, col int) parquet.Value {
	if b == nil {
		return parquet.NullValue().Level(rep, def, col)
	}
	return parquet.ByteArrayValue(b).Level(rep, def+1, col)
}

func (c *columns) maker(partition int32) *idMaker {
	m := c.makers[partition]
	if m == nil {
		m = newIDMaker(c.reader.cluster, c.reader.topic, c.reader.incarnation, partition)
		c.makers[partition] = m
	}
	return m
}

// writeTo appends the rows to w's columns.
func (c *columns) writeTo(w *parquet.Writer) error {
	for i, cw := range w.ColumnWriters() {
		if _, err := cw.WriteRowValues(c.values[i]); err != nil {
			return fmt.Errorf("write column %d: %w", i, err)
		}
	}
	return nil
}
