package wire

import (
	"github.com/twg-io/twg/internal/twgpb"
	"github.com/twg-io/twg/sdk"
)

func toStream(s sdk.Stream) *twgpb.Stream {
	return &twgpb.Stream{Cluster: []byte(s.Cluster), Topic: []byte(s.Topic), Incarnation: []byte(s.Incarnation), Partition: s.Partition}
}

func fromStream(s *twgpb.Stream) (sdk.Stream, error) {
	if s == nil {
		return sdk.Stream{}, violation("a message names no stream")
	}
	return sdk.Stream{Cluster: string(s.Cluster), Topic: string(s.Topic), Incarnation: string(s.Incarnation), Partition: s.Partition}, nil
}

func toStreams(in []sdk.Stream) []*twgpb.Stream { return each(in, toStream) }

func fromStreams(in []*twgpb.Stream) ([]sdk.Stream, error) { return eachErr(in, fromStream) }

// each maps a slice; nil stays nil.
func each[A, B any](in []A, f func(A) B) []B {
	if in == nil {
		return nil
	}
	out := make([]B, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// eachErr maps a slice and stops at the first error; nil stays nil.
func eachErr[A, B any](in []A, f func(A) (B, error)) ([]B, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]B, len(in))
	for i, x := range in {
		var err error
		if out[i], err = f(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}
