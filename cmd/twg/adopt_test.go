package main

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// orphanage is a store that notes whose streams were taken over.
type orphanage struct {
	sdk.RecoveryStore
	raw, lake map[sdk.Stream]*coverage.Set
	live      map[sdk.Stream]int64
	epochs    map[sdk.Stream]sdk.Epoch
	acquired  []sdk.Stream
}

func (o *orphanage) Streams(context.Context) (out []sdk.Stream, _ error) {
	for s := range o.raw {
		out = append(out, s)
	}
	return out, nil
}

func (o *orphanage) Floors(_ context.Context, _ string, streams []sdk.Stream) (out []sdk.Floors, _ error) {
	for _, s := range streams {
		out = append(out, sdk.Floors{Stream: s, Live: o.live[s]})
	}
	return out, nil
}

func (o *orphanage) Coverage(_ context.Context, lane string, streams []sdk.Stream) (out []sdk.StreamCoverage, _ error) {
	for _, s := range streams {
		set := o.raw[s]
		if lane != sdk.LaneRaw {
			set = o.lake[s]
		}
		out = append(out, sdk.StreamCoverage{Stream: s, Set: set.Clone()})
	}
	return out, nil
}

func (o *orphanage) Windows(context.Context, string) ([]sdk.RecoveryWindow, error) { return nil, nil }

func (o *orphanage) Acquire(_ context.Context, owner string, streams []sdk.Stream) (out []sdk.Acquired, _ error) {
	for _, s := range streams {
		o.acquired = append(o.acquired, s)
		o.epochs[s] = sdk.Epoch{Number: o.epochs[s].Number + 1}
		out = append(out, sdk.Acquired{Stream: s, Epoch: o.epochs[s], Previous: "the host that died"})
	}
	return out, nil
}

func (o *orphanage) Record(_ context.Context, _ string, recs []sdk.CoverageRecord) error {
	for _, r := range recs {
		if r.Epoch != o.epochs[r.Stream] {
			return sdk.Errorf(sdk.KindFenced, "record", "stale epoch")
		}
		o.live[r.Stream] = max(o.live[r.Stream], r.LiveFloor)
	}
	return nil
}

func upTo(next int64) *coverage.Set {
	s := &coverage.Set{}
	s.AddHeld(coverage.Interval{Next: next})
	return s
}

// recover --orphans takes over streams of which something lies above the live
// floor, and no others: of those the owner, if there is one, is left alone. The
// floor rises to raw's first hole, under the new epoch.
func TestAdoptTakesOnlyWhatNobodyDelivers(t *testing.T) {
	left, whole, recovered := numbersStream, sdk.Stream{Topic: "whole"}, sdk.Stream{Topic: "recovered"}
	gap := upTo(40)
	gap.AddHeld(coverage.Interval{From: 50, Next: 60})
	o := &orphanage{
		raw:    map[sdk.Stream]*coverage.Set{left: gap, whole: upTo(10), recovered: upTo(10)},
		lake:   map[sdk.Stream]*coverage.Set{left: upTo(5), whole: upTo(10), recovered: upTo(5)},
		live:   map[sdk.Stream]int64{left: 20, whole: 3, recovered: 10},
		epochs: map[sdk.Stream]sdk.Epoch{left: {Number: 7}, whole: {Number: 1}, recovered: {Number: 1}},
	}
	r := workerRecoverer{recoverParts{lane: "lake", owner: "me", store: o, log: slog.New(slog.DiscardHandler)}}
	req := recoverRequest{streams: func(sdk.Stream) bool { return true }}
	for range 2 { // a second time there is nothing to take over
		s, err := r.standing(t.Context(), req)
		if err == nil {
			err = r.adopt(t.Context(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(o.acquired, []sdk.Stream{left}) {
		t.Errorf("taken over: %v, want %s once", o.acquired, left)
	}
	if o.live[left] != 40 || o.live[whole] != 3 || o.live[recovered] != 10 {
		t.Errorf("live floors %v, want raw's first hole 40 for %s and no change else", o.live, left)
	}
	if o.epochs[left].Number != 8 {
		t.Error("who had the stream is not fenced")
	}
}
