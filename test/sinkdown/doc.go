// Package sinkdown runs twg and its plugins as real processes between a real
// Kafka and a real PostgreSQL, takes the database away, and sends records that
// expand a hundredfold: memory stays within the ceiling that "twg plan" printed.
// It is a test only, with the build tag services.
package sinkdown
