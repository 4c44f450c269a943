package main

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func laneSet(is ...coverage.Interval) *coverage.Set {
	var s coverage.Set
	for _, i := range is {
		s.AddHeld(i)
	}
	return &s
}

// stands makes a standing of one stream.
func stands(raw *coverage.Set, lanes ...sdk.StreamCoverage) *standing {
	s := &standing{streams: []sdk.Stream{numbersStream}, raw: []*coverage.Set{raw}, floors: []int64{0}, index: map[sdk.Stream]int{numbersStream: 0}}
	for i, l := range lanes {
		l.Stream = numbersStream
		s.lanes = append(s.lanes, laneStanding{name: string(rune('a' + i)), streams: []laneStream{newLaneStream(raw, l, 0)}})
	}
	return s
}

// What raw took in after it was looked at was compared with no lane: a prune
// must not reach it, however complete the lanes look.
func TestPruneStopsWhereRawEnded(t *testing.T) {
	s := stands(laneSet(coverage.Interval{Next: 100}), sdk.StreamCoverage{Set: laneSet(coverage.Interval{Next: 100})})
	c := rawPruneCmd{EvenIfMissing: false}
	asked, _ := c.ask(s, sdk.MaxPosition, sdk.Prune{}.OlderThan)
	if asked[0].Below != 100 {
		t.Errorf("below %d, want 100", asked[0].Below)
	}
	c.EvenIfMissing = true
	if asked, _ = c.ask(s, sdk.MaxPosition, sdk.Prune{}.OlderThan); asked[0].Below != 100 {
		t.Errorf("even if missing: below %d, want 100", asked[0].Below)
	}
}

// The bound against a count of positions: nothing below it is lacked by
// anybody, and it is as high as that allows.
func TestPruneBoundsAgainstModel(t *testing.T) {
	const n = 12
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (set *coverage.Set, has [n]bool) {
			set = &coverage.Set{}
			for p := range int64(n) {
				if has[p] = rapid.IntRange(0, 9).Draw(t, name) > 0; has[p] {
					set.AddHeld(coverage.Interval{From: p, Next: p + 1})
				}
			}
			return set, has
		}
		raw, inRaw := draw("raw")
		a, inA := draw("a")
		b, inB := draw("b")
		asideSet, aside := draw("aside")
		s := stands(raw, sdk.StreamCoverage{Set: a, SetAside: asideSet.Held()}, sdk.StreamCoverage{Set: b})
		keep := rapid.Bool().Draw(t, "keep rejected")
		from := rapid.Int64Range(0, n-1).Draw(t, "retry from")
		retry := coverage.Interval{From: from, Next: rapid.Int64Range(from, n).Draw(t, "retry to")}
		s.lanes[0].windows = []sdk.RecoveryWindow{{Window: sdk.Window{Stream: numbersStream, From: retry.From, Next: retry.Next}, RetrySetAside: true}}
		want := int64(0)
		for ; want < n && inRaw[want]; want++ {
			wanted := keep || retry.From <= want && want < retry.Next
			if aside[want] && wanted || !aside[want] && !inA[want] || !inB[want] {
				break
			}
		}
		if got := s.bounds(keep)[0].below; got != want {
			t.Fatalf("below %d, want %d", got, want)
		}
	})
}
