// Package storage tests the pipeline with kafka-source and the real sinks, each
// with its own offset store: what a broker, a database or a directory can do to
// positions, and what becomes of it.
package storage
