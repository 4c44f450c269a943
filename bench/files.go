package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// parquetFiles is a directory inside the run's own.
type parquetFiles struct{}

func (parquetFiles) dir(t task) string { return filepath.Join(t.dir, "files") }

func (p parquetFiles) prepare(_ context.Context, t task) error { return os.MkdirAll(p.dir(t), 0o755) }

const parquetText = `  sink "parquet" "files" {
    config {
      dir           = %q
      max_file_rows = %d
    }
  }
`

func (p parquetFiles) sink(t task) string {
	return fmt.Sprintf(parquetText, p.dir(t), t.options.RowsPerFile)
}

func (p parquetFiles) yardstickArgs(t task) []string {
	return []string{"-dir", p.dir(t), "-rows-per-file", strconv.FormatInt(t.options.RowsPerFile, 10)}
}

func (p parquetFiles) read(_ context.Context, t task) (output, error) {
	return readOutput(p.dir(t), t.topics, t.options.Records)
}
