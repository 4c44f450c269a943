// Package rawfile encodes raw records as Parquet files of the fixed raw
// columns.
package rawfile

import (
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Row is the raw schema, frozen (docs/storage.md). Files are written column
// by column; the struct says what the columns are, and reads them back.
//
// The types are plain on purpose: timestamp_ms may be any int64, which a
// TIMESTAMP annotation would turn into an error of the reader, and a header's
// name may be any bytes.
type Row struct {
	ID          [16]byte `parquet:"_twg_record_id,uuid,plain"`
	Cluster     string   `parquet:"cluster,dict"`
	Topic       string   `parquet:"topic,dict"`
	Incarnation string   `parquet:"incarnation,dict"`
	Partition   int32    `parquet:"partition,plain"`
	Position    int64    `parquet:"position,plain"`
	TimestampMS int64    `parquet:"timestamp_ms,plain"`
	Key         []byte   `parquet:"key,optional,plain"`
	Value       []byte   `parquet:"value,optional,plain"`
	Headers     []Header `parquet:"headers,list"`
}

// Header is an element of the headers column.
type Header struct {
	Name  []byte `parquet:"name,plain"`
	Value []byte `parquet:"value,optional,plain"`
}

// Columns by their index.
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

// Compressions are the names that Codec knows.
var Compressions = []string{"zstd", "snappy", "none"}

// Codec returns the codec of a name. level is zstd's: 1 (fastest) to 4.
func Codec(name string, level int) (compress.Codec, error) {
	switch name {
	case "zstd":
		return &zstd.Codec{Level: zstdLevels[min(max(level, 1), len(zstdLevels))-1], Concurrency: 1}, nil
	case "snappy":
		return &snappy.Codec{}, nil
	case "none":
		return &parquet.Uncompressed, nil
	}
	return nil, fmt.Errorf("compression %q is not one of zstd, snappy, none", name)
}

var zstdLevels = []zstd.Level{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression, zstd.SpeedBestCompression}
