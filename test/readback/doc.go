// Package readback has other readers than ours, pyarrow and DuckDB, read what
// the Parquet sink wrote. It is a test only.
package readback
