package plugintest

import (
	"fmt"
	"testing"
	"time"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/frame"
)

// SinkConfig is what the suite needs to know about a sink.
type SinkConfig struct {
	// Binary is the path of the program, twg-plugin-NAME.
	Binary string
	// Target makes a target that holds nothing yet. It is called once a case.
	Target func(testing.TB) Target
	// Invalid are settings, as JSON objects, that must be refused.
	Invalid []string
	// Break makes writing to a target fail until the function that it returns
	// is called. Nil: what a sink does then is not checked.
	Break func(testing.TB, Target) (repair func())
}

// Target is what a sink writes to.
type Target struct {
	// Settings lead to the target, as a JSON object.
	Settings string
	// ReadBack returns all rows that a reader of the target sees, in any
	// order, by other means than the plugin's.
	ReadBack func() ([]Row, error)
	// Touched reports whether anything was made or changed at the target. Nil:
	// that Configure does no I/O is not checked.
	Touched func() bool
}

// Row is a record as it was found in a target.
type Row struct {
	Topic     string
	Partition int32
	frame.Record
}

// SourceConfig is what the suite needs to know about a source.
type SourceConfig struct {
	Binary string
	// Service makes a service with at least one stream and no record. It is
	// called once a case.
	Service func(testing.TB) Service
	Invalid []string
	// Carries is what the service can hold of a record: a source of lines, for
	// example, has no headers, and no newline in a value. What it returns is
	// what is produced and must come; of that it must return the same. Nil: all
	// of a record.
	Carries func(frame.Record) frame.Record
	// Shares: two processes with the same settings divide the streams among
	// each other. Every service then has two streams or more.
	Shares bool
}

// Service is what a source reads from.
type Service struct {
	// Settings lead to the service; a stream that has no position begins at
	// its earliest record.
	Settings string
	// Unreachable are settings of a service that is not there.
	Unreachable string
	// Produce appends records to a stream. Their positions are ignored.
	Produce func(sdk.Stream, ...frame.Record) error
	// Committed is the position that the service holds for a stream, or
	// sdk.NoPosition. Nil for sources whose positions a store keeps.
	Committed func(sdk.Stream) (int64, error)
}

// patience is how long what must happen may take. The suite's own tests, where
// many things never happen, have less.
var patience = 20 * time.Second

const (
	// quiet is how long what must not happen is waited for.
	quiet = 700 * time.Millisecond
	// orphanTime is how long a process may outlive its host.
	orphanTime = 10 * time.Second
)

// testCase is one clause.
type testCase[R any] struct {
	name   string
	clause string
	// needs: the capabilities with which the clause has a meaning; nil: all.
	needs func(sdk.Capabilities) bool
	run   func(R)
}

// failure is how a case ends at once.
type failure struct{ error }

func failf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func must(err error, doing string) {
	if err != nil {
		failf("%s: %w", doing, err)
	}
}

// attempt runs a case, or a part of one, and returns how it failed.
func attempt(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// Sink holds a sink to the protocol.
func Sink(t *testing.T, cfg SinkConfig) {
	caps := sinkCapabilities(t, cfg)
	for _, c := range sinkCases {
		if c.needs != nil && !c.needs(caps) || c.name == "failure" && cfg.Break == nil {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := runSink(t, cfg, c); err != nil {
				t.Fatalf("%v\n%s", err, c.clause)
			}
		})
	}
}

// Source holds a source to the protocol.
func Source(t *testing.T, cfg SourceConfig) {
	caps := sourceCapabilities(t, cfg)
	for _, c := range sourceCases {
		if c.needs != nil && !c.needs(caps) || c.name == "revoke" && !cfg.Shares {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if err := runSource(t, cfg, c); err != nil {
				t.Fatalf("%v\n%s", err, c.clause)
			}
		})
	}
}
