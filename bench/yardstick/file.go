package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// span is what a file holds of a partition: [From, Next).
type span struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	From      int64  `json:"from"`
	Next      int64  `json:"next"`
}

// files writes one Parquet file after the other into a directory.
type files struct {
	dir    string
	n      int
	rows   int64
	f      *os.File
	writer *parquet.Writer
	spans  map[int32]span
}

// open begins the next file under a temporary name.
func (l *files) open() error {
	f, err := os.Create(l.tmp())
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	l.f, l.rows, l.spans = f, 0, map[int32]span{}
	if l.writer != nil {
		l.writer.Reset(f)
		return nil
	}
	l.writer = parquet.NewWriter(f, schema,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest, Concurrency: 1}),
		parquet.PageBufferSize(512<<10), parquet.WriteBufferSize(1<<20), parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"),
		parquet.SkipPageBounds("headers", "list", "element", "name"), parquet.SkipPageBounds("headers", "list", "element", "value"))
	return nil
}

func (l *files) tmp() string   { return filepath.Join(l.dir, fmt.Sprintf(".%d.tmp", l.n)) }
func (l *files) final() string { return filepath.Join(l.dir, fmt.Sprintf("%d.parquet", l.n)) }

// seal makes the open file durable under its final name.
func (l *files) seal() error {
	spans := make([]span, 0, len(l.spans))
	for _, s := range l.spans {
		spans = append(spans, s)
	}
	footer, err := json.Marshal(spans)
	if err != nil {
		return err
	}
	l.writer.SetKeyValueMetadata("spans", string(footer))
	err = errors.Join(l.writer.Close(), l.f.Sync(), l.f.Close())
	if err != nil {
		return fmt.Errorf("close %s: %w", l.tmp(), err)
	}
	if err := os.Link(l.tmp(), l.final()); err != nil {
		return fmt.Errorf("link file: %w", err)
	}
	if err := syncDir(l.dir); err != nil {
		return err
	}
	err = os.Remove(l.tmp())
	l.n++
	l.f = nil
	return err
}

// next is where the partitions of the last sealed file go on.
func (l *files) next() map[int32]int64 {
	next := map[int32]int64{}
	for p, s := range l.spans {
		next[p] = s.Next
	}
	return next
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
