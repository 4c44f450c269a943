package sdk

import (
	"errors"
	"fmt"
)

// Kind says what can be done about an error. The numbers are append-only and
// travel on the wire; a number that the reader does not know is KindFatal.
type Kind uint8

const (
	// KindRetryable: the same may succeed later.
	KindRetryable Kind = iota + 1
	// KindRejected: this input will never be accepted.
	KindRejected
	// KindFatal: nothing more can be done without a person.
	KindFatal
	// KindFenced: another owner has the stream.
	KindFenced
)

func (k Kind) String() string {
	switch k {
	case KindRetryable:
		return "retryable"
	case KindRejected:
		return "rejected"
	case KindFenced:
		return "fenced"
	}
	return "fatal"
}

// Scope says what an error ends.
type Scope uint8

const (
	// ScopeRecord: one record.
	ScopeRecord Scope = iota + 1
	// ScopeSpan: one span.
	ScopeSpan
	// ScopeRun: one run of a stream.
	ScopeRun
	// ScopeSession: the source's or sink's stream to the host; a new one may
	// be opened.
	ScopeSession
	// ScopePlugin: the plugin's process.
	ScopePlugin
)

// Error is an error with what it was about and what can be done.
type Error struct {
	// Op is what was being done, in the form "verb object": "open log".
	Op    string
	Kind  Kind
	Scope Scope
	Err   error
}

// Errorf makes an Error of scope session.
func Errorf(kind Kind, op, format string, args ...any) *Error {
	return &Error{Op: op, Kind: kind, Scope: ScopeSession, Err: fmt.Errorf(format, args...)}
}

func (e *Error) Error() string {
	if e.Op == "" {
		return e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain. Any other
// non-nil error is retryable: a plugin that fails in an unforeseen way must
// not stop a pipeline for good.
func KindOf(err error) Kind {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Kind < KindRetryable || e.Kind > KindFenced {
			return KindFatal
		}
		return e.Kind
	}
	return KindRetryable
}
