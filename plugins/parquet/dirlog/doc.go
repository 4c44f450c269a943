// Package dirlog is the log of a directory of Parquet files: each commit is a
// file of raw rows, or of none, whose footer says what it adds to coverage,
// cursors and epochs. How commits get into the log is in package linklog, the
// layout in docs/storage.md.
package dirlog
