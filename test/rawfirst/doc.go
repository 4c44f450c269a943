// Package rawfirst runs examples/hcl/raw-first.hcl as it stands: twg and its
// plugins as real processes, a real Kafka, two real PostgreSQL servers. Each
// box of the figure in docs/recovery.md is killed once, and at the end both
// secondaries are compared with raw, row for row. It is a test only, with the
// build tag services.
package rawfirst
