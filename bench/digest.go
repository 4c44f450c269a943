package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"
)

// fullRow is all raw columns, as a Parquet file has them.
type fullRow struct {
	outputRow
	Cluster     string       `parquet:"cluster"`
	Incarnation string       `parquet:"incarnation"`
	TimestampMS int64        `parquet:"timestamp_ms"`
	Key         []byte       `parquet:"key,optional"`
	Value       []byte       `parquet:"value,optional"`
	Headers     []fullHeader `parquet:"headers,list"`
}

type fullHeader struct {
	Name  []byte `parquet:"name"`
	Value []byte `parquet:"value,optional"`
}

// digest is a sum over the hashes of whole rows, without order.
type digest struct {
	sum [2]uint64
	buf []byte
}

func (d *digest) add(r *fullRow) {
	b := append(d.buf[:0], r.ID[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Partition))
	b = binary.BigEndian.AppendUint64(b, uint64(r.Position))
	b = binary.BigEndian.AppendUint64(b, uint64(r.TimestampMS))
	for _, f := range [][]byte{[]byte(r.Cluster), []byte(r.Topic), []byte(r.Incarnation), r.Key, r.Value} {
		b = appendField(b, f)
	}
	for _, h := range r.Headers {
		b = appendField(appendField(b, h.Name), h.Value)
	}
	d.buf = b
	h := xxh3.Hash128(b)
	d.sum[0] += h.Hi
	d.sum[1] += h.Lo
}

// appendField tells a null from an empty field.
func appendField(b, f []byte) []byte {
	if f == nil {
		return binary.BigEndian.AppendUint32(b, 1<<32-1)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
}

func (d *digest) String() string { return fmt.Sprintf("%016x%016x", d.sum[0], d.sum[1]) }

// readLakeRows checks that the files hold each record once, and sums all
// columns.
func readLakeRows(dir string, topics []string, n int64) (output, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	if err != nil {
		return output{}, err
	}
	var o output
	var d digest
	rows, seen := int64(0), newSeen(topics, n)
	for _, path := range paths {
		k, err := o.readFull(path, seen, &d)
		if err != nil {
			return o, fmt.Errorf("read %s: %w", filepath.Base(path), err)
		}
		rows += k
	}
	o.content = d.String()
	return o, checkCount("files hold", rows, topics, n)
}

func (o *output) readFull(path string, seen map[string][]bool, d *digest) (total int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r := parquet.NewGenericReader[fullRow](f)
	defer r.Close()
	rows := make([]fullRow, 1024)
	for {
		n, err := r.Read(rows)
		for i := range rows[:n] {
			if err := o.add(&rows[i].outputRow, seen); err != nil {
				return total, err
			}
			d.add(&rows[i])
		}
		total += int64(n)
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// readTableRows is readLakeRows for the raw table.
func readTableRows(ctx context.Context, conn *pgx.Conn, topics []string, n int64) (output, error) {
	var o output
	var d digest
	seen := newSeen(topics, n)
	rows, err := conn.Query(ctx, `select "_twg_record_id", cluster, topic, incarnation, partition, position, timestamp_ms, key, value, headers from `+tableName)
	if err != nil {
		return o, fmt.Errorf("read table %s: %w", tableName, err)
	}
	var x fullRow
	var headers pgtype.Array[[]byte]
	into := []any{&x.ID, &x.Cluster, &x.Topic, &x.Incarnation, &x.Partition, &x.Position, &x.TimestampMS, &x.Key, &x.Value, &headers}
	tag, err := pgx.ForEachRow(rows, into, func() error {
		x.Headers = x.Headers[:0]
		for i := 0; i+1 < len(headers.Elements); i += 2 {
			x.Headers = append(x.Headers, fullHeader{headers.Elements[i], headers.Elements[i+1]})
		}
		d.add(&x)
		return o.add(&x.outputRow, seen)
	})
	if err != nil {
		return o, fmt.Errorf("read table %s: %w", tableName, err)
	}
	o.content = d.String()
	return o, checkCount("table holds", tag.RowsAffected(), topics, n)
}
