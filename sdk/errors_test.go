package sdk

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestKindOf(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want Kind
	}{
		"nil":                {nil, 0},
		"foreign":            {io.EOF, KindRetryable},
		"own":                {Errorf(KindRejected, "write row", "too long"), KindRejected},
		"wrapped":            {fmt.Errorf("lane raw: %w", Errorf(KindFenced, "write", "epoch")), KindFenced},
		"joined":             {errors.Join(io.EOF, Errorf(KindFatal, "x", "y")), KindFatal},
		"number from later":  {&Error{Kind: 9, Err: io.EOF}, KindFatal},
		"number that is not": {&Error{Err: io.EOF}, KindFatal},
	} {
		if got := KindOf(c.err); got != c.want {
			t.Errorf("%s: kind %s, want %s", name, got, c.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	err := Errorf(KindRetryable, "open log", "read header: %w", io.ErrUnexpectedEOF)
	if got := err.Error(); got != "open log: read header: unexpected EOF" {
		t.Error(got)
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Scope != ScopeSession {
		t.Errorf("cause or scope lost: %#v", err)
	}
	if got := (&Error{Err: io.EOF}).Error(); got != "EOF" {
		t.Error(got)
	}
}

func TestReceiptsAnswerEverySpan(t *testing.T) {
	b := &Batch{Seq: 7, Spans: []Span{
		{Stream: Stream{Topic: "a"}, From: 1, Next: 5, Run: 2},
		{Stream: Stream{Topic: "b"}, From: 9, Next: 9, Run: 3},
	}}
	r := AllOutcome(4, b, Fenced, "epoch 3 is over")
	if r.Session != 4 || r.Seq != 7 || len(r.Outcomes) != 2 {
		t.Fatalf("%+v", r)
	}
	for i, o := range r.Outcomes {
		s := b.Spans[i]
		if o.Stream != s.Stream || o.Run != s.Run || o.From != s.From || o.Next != s.Next || o.Kind != Fenced || o.Reason == "" {
			t.Errorf("outcome %d is %+v for %+v", i, o, s)
		}
	}
	if d := AllDurable(4, b); d.Outcomes[1].Kind != Durable || d.Outcomes[1].Reason != "" {
		t.Errorf("%+v", d)
	}
}

func TestSpanValidate(t *testing.T) {
	for _, c := range []struct {
		span Span
		ok   bool
	}{
		{Span{From: 0, Next: 0}, true}, {Span{From: 0, Next: MaxPosition}, true},
		{Span{From: 5, Next: 4}, false}, {Span{From: -1, Next: 4}, false},
		{Span{From: 0, Next: MaxPosition + 1}, false}, {Span{Next: 1, ExpandedBytes: -1}, false},
	} {
		if err := c.span.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.span, err)
		}
	}
}
