package pgstore

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// laneSet is what a lane has of one stream, by the reason that is stored. Each
// reason's positions are kept as those that a set holds, so that a reason that
// this program does not know keeps its name.
type laneSet struct {
	stored  []interval
	byWhy   map[string]*coverage.Set
	covered coverage.Set // held or void
}

func newLaneSet() *laneSet { return &laneSet{byWhy: map[string]*coverage.Set{"": {}, setAside: {}}} }

// load adds an interval that is stored.
func (l *laneSet) load(i interval) {
	l.stored = append(l.stored, i)
	l.put(i.reason, i.Interval)
}

func (l *laneSet) put(reason string, i coverage.Interval) {
	if l.byWhy[reason] == nil {
		l.byWhy[reason] = &coverage.Set{}
	}
	l.byWhy[reason].AddHeld(i)
	if reason != setAside {
		l.covered.AddHeld(i)
	}
}

// add merges a record in. Held wins over set aside.
func (l *laneSet) add(r sdk.CoverageRecord) {
	for _, h := range r.Held {
		l.put("", h)
	}
	for _, v := range r.Void {
		for _, hole := range l.covered.Holes(v.Interval) {
			l.put(v.Reason.String(), hole)
		}
	}
	for _, a := range r.SetAside {
		l.put(setAside, a)
	}
	left := &coverage.Set{}
	for _, a := range l.byWhy[setAside].Held() {
		for _, i := range l.byWhy[""].Missing(a) {
			left.AddHeld(i)
		}
	}
	l.byWhy[setAside] = left
}

// changes says how the rows of a stream become what the set is now: rows that
// go, and rows that are new or have another end.
func (l *laneSet) changes(id streamID) (gone, put []interval) {
	type key struct {
		reason string
		from   int64
	}
	want := map[key]int64{}
	for reason, s := range l.byWhy {
		for _, i := range s.Held() {
			want[key{reason, i.From}] = i.Next
		}
	}
	for _, i := range l.stored {
		k := key{i.reason, i.From}
		switch next, ok := want[k]; {
		case !ok:
			gone = append(gone, i)
		case next == i.Next:
			delete(want, k)
		}
	}
	for k, next := range want {
		put = append(put, interval{id, k.reason, coverage.Interval{From: k.from, Next: next}})
	}
	slices.SortFunc(put, compareIntervals)
	return gone, put
}

func compareIntervals(a, b interval) int {
	return cmp.Or(bytes.Compare(a.stream[:], b.stream[:]), cmp.Compare(a.reason, b.reason), cmp.Compare(a.From, b.From))
}
