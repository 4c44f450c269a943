package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// standing is what a store says about streams, and what follows from it.
type standing struct {
	streams []sdk.Stream
	index   map[sdk.Stream]int
	raw     []*coverage.Set
	floors  []int64 // raw's, by stream
	lanes   []laneStanding
}

type laneStanding struct {
	name    string
	streams []laneStream // as standing.streams
	windows []sdk.RecoveryWindow
}

// laneStream is where a lane stands in one stream.
type laneStream struct {
	stream    sdk.Stream
	held      *coverage.Set
	aside     []coverage.Interval
	liveFloor int64
	// firstHole is the first of missing, or raw's.
	firstHole int64
	// missing are positions that raw holds contiguously and the lane neither
	// holds nor has set aside. lost are those that were pruned from raw before
	// the lane had them.
	missing, lost []coverage.Interval
}

// readStanding asks a store. Raw is asked before the lanes, so that a lane is
// never credited with less than it had when raw was looked at.
func readStanding(ctx context.Context, st sdk.RecoveryStore, lanes []string, keep func(sdk.Stream) bool) (*standing, error) {
	all, err := st.Streams(ctx)
	if err != nil {
		return nil, err
	}
	s := &standing{streams: slices.DeleteFunc(all, func(x sdk.Stream) bool { return !keep(x) })}
	slices.SortFunc(s.streams, compareStreams)
	s.index = make(map[sdk.Stream]int, len(s.streams))
	for i, stream := range s.streams {
		s.index[stream] = i
	}
	floors, err := st.Floors(ctx, sdk.LaneRaw, s.streams)
	if err != nil {
		return nil, err
	}
	raw, err := s.coverage(ctx, st, sdk.LaneRaw)
	if err != nil {
		return nil, err
	}
	for i := range s.streams {
		s.raw, s.floors = append(s.raw, raw[i].Set), append(s.floors, floors[i].Raw)
	}
	for _, name := range lanes {
		lane, err := s.readLane(ctx, st, name)
		if err != nil {
			return nil, err
		}
		s.lanes = append(s.lanes, lane)
	}
	return s, nil
}

// coverage reads a lane's coverage, in the order of s.streams.
func (s *standing) coverage(ctx context.Context, st sdk.RecoveryStore, lane string) ([]sdk.StreamCoverage, error) {
	got, err := st.Coverage(ctx, lane, s.streams)
	out := make([]sdk.StreamCoverage, len(s.streams))
	for i, stream := range s.streams {
		out[i] = sdk.StreamCoverage{Stream: stream, Set: &coverage.Set{}}
	}
	for _, c := range got {
		if i, ok := s.index[c.Stream]; ok && c.Set != nil {
			out[i] = c
		}
	}
	return out, err
}

func (s *standing) readLane(ctx context.Context, st sdk.RecoveryStore, name string) (laneStanding, error) {
	out := laneStanding{name: name}
	floors, err := st.Floors(ctx, name, s.streams)
	if err != nil {
		return out, err
	}
	held, err := s.coverage(ctx, st, name)
	if err != nil {
		return out, err
	}
	for i := range s.streams {
		out.streams = append(out.streams, newLaneStream(s.raw[i], held[i], floors[i].Live))
	}
	windows, err := st.Windows(ctx, name)
	for _, w := range windows {
		if _, ok := s.index[w.Stream]; ok {
			out.windows = append(out.windows, w)
		}
	}
	return out, err
}

func newLaneStream(raw *coverage.Set, c sdk.StreamCoverage, liveFloor int64) laneStream {
	l := laneStream{stream: c.Stream, held: c.Set, aside: c.SetAside, liveFloor: liveFloor}
	settled := c.Set.Clone()
	for _, a := range c.SetAside {
		settled.AddHeld(a)
	}
	for _, h := range raw.HeldWithin(coverage.Interval{Next: raw.FirstHole()}) {
		l.missing = append(l.missing, settled.Holes(h)...)
	}
	l.firstHole = raw.FirstHole()
	if len(l.missing) > 0 {
		l.firstHole = l.missing[0].From
	}
	for _, v := range raw.Voids() {
		if v.Reason == coverage.Pruned {
			l.lost = append(l.lost, settled.Holes(v.Interval)...)
		}
	}
	return l
}

// backlog is what is left to rebuild of a lane.
func (s *standing) backlog(l laneStanding) recovery.Backlog {
	known := make([]recovery.Known, len(s.streams))
	for i, x := range l.streams {
		known[i] = recovery.Known{Stream: x.stream, Raw: s.raw[i], Lane: x.held, SetAside: x.aside, Floors: sdk.Floors{Stream: x.stream, Live: x.liveFloor, Raw: s.floors[i]}}
	}
	for _, w := range l.windows {
		k := &known[s.index[w.Stream]]
		k.Windows = append(k.Windows, w)
	}
	return recovery.Add(known)
}

func compareStreams(a, b sdk.Stream) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Partition, b.Partition))
}

// positions counts those of intervals.
func positions(is []coverage.Interval) (n int64) {
	for _, i := range is {
		n += i.Next - i.From
	}
	return n
}

// below keeps the parts of intervals that lie below a position.
func below(is []coverage.Interval, at int64) (out []coverage.Interval) {
	for _, i := range is {
		if i.Next = min(i.Next, at); !i.Empty() {
			out = append(out, i)
		}
	}
	return out
}
