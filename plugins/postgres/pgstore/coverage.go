package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// interval is a row of the coverage table.
type interval struct {
	stream streamID
	reason string
	coverage.Interval
}

// reasons by name, as the table has them. A void of a reason that this program
// does not know is a void all the same.
var reasons = map[string]coverage.Reason{
	coverage.BeforeStart.String(): coverage.BeforeStart,
	coverage.Seek.String():        coverage.Seek,
	coverage.Retention.String():   coverage.Retention,
	coverage.Pruned.String():      coverage.Pruned,
}

// setAside is the reason of positions that a lane's sink refused. They are no
// void: nothing is said about whether they will be there.
const setAside = "set_aside"

func (i interval) addTo(set *coverage.Set) {
	switch i.reason {
	case "":
		set.AddHeld(i.Interval)
	case setAside:
	default:
		set.AddVoid(coverage.Void{Interval: i.Interval, Reason: reasons[i.reason]})
	}
}

// addRawTo adds an interval of lane raw as whoever reads raw sees it: what was
// held below the raw floor is void.
func (i interval) addRawTo(set *coverage.Set, floor int64) {
	if i.reason != "" {
		i.addTo(set)
		return
	}
	set.AddVoid(coverage.Void{Interval: coverage.Interval{From: i.From, Next: min(i.Next, floor)}, Reason: coverage.Pruned})
	set.AddHeld(coverage.Interval{From: max(i.From, floor), Next: i.Next})
}

// rows reads what is stored of streams, and checks it.
func (st *Store) rows(ctx context.Context, q querier, lane string, names map[streamID]sdk.Stream) (out []interval, err error) {
	rows, err := q.Query(ctx, "select stream, reason, from_position, next_position, crc from "+st.t.coverage+
		" where stream = any($1) and lane = $2 order by stream, reason, from_position", slices.Collect(maps.Keys(names)), lane)
	if err != nil {
		return nil, err
	}
	var i interval
	var crc int32
	_, err = pgx.ForEachRow(rows, []any{&i.stream, &i.reason, &i.From, &i.Next, &crc}, func() error {
		if k := names[i.stream]; crc != intervalSum(k, lane, i.reason, i.Interval) {
			return st.damaged(st.t.coverage, i.stream, k, fmt.Sprintf("[%d,%d)", i.From, i.Next))
		}
		out = append(out, i)
		return nil
	})
	return out, err
}

// read reads the coverage of streams, by id, as it is stored: with what was
// pruned since, which must not be written again.
func (st *Store) read(ctx context.Context, q querier, lane string, found map[sdk.Stream]stream) (map[streamID]*coverage.Set, error) {
	rows, err := st.rows(ctx, q, lane, namesOf(found))
	if err != nil {
		return nil, err
	}
	out := map[streamID]*coverage.Set{}
	for _, i := range rows {
		if out[i.stream] == nil {
			out[i.stream] = &coverage.Set{}
		}
		i.addTo(out[i.stream])
	}
	return out, nil
}

// Coverage returns what a lane holds of each stream. What another transaction
// can see is on the disk already: a commit is flushed before it is visible.
func (st *Store) Coverage(ctx context.Context, conn *pgx.Conn, lane string, streams []sdk.Stream) ([]sdk.StreamCoverage, error) {
	got, err := st.lane(ctx, conn, lane, streams)
	if err != nil {
		return nil, fmt.Errorf("read coverage of lane %s: %w", lane, err)
	}
	out := make([]sdk.StreamCoverage, len(streams))
	for i, k := range streams {
		if got[k] == nil {
			got[k] = &sdk.StreamCoverage{Set: &coverage.Set{}}
		}
		out[i] = sdk.StreamCoverage{Stream: k, Set: got[k].Set, SetAside: got[k].SetAside}
	}
	return out, nil
}

// lane reads the coverage of streams; one that has none is not in the result.
func (st *Store) lane(ctx context.Context, q querier, lane string, streams []sdk.Stream) (map[sdk.Stream]*sdk.StreamCoverage, error) {
	found, err := st.find(ctx, q, distinct(streams), noLock)
	if err != nil {
		return nil, err
	}
	byID := namesOf(found)
	rows, err := st.rows(ctx, q, lane, byID)
	if err != nil {
		return nil, err
	}
	out := map[sdk.Stream]*sdk.StreamCoverage{}
	for _, i := range rows {
		k := byID[i.stream]
		if out[k] == nil {
			out[k] = &sdk.StreamCoverage{Stream: k, Set: &coverage.Set{}}
		}
		switch {
		case lane == sdk.LaneRaw:
			i.addRawTo(out[k].Set, found[k].floor)
		case i.reason == setAside:
			out[k].SetAside = append(out[k].SetAside, i.Interval)
		default:
			i.addTo(out[k].Set)
		}
	}
	return out, nil
}

// HeldWithin returns the parts of a window that raw holds.
func (st *Store) HeldWithin(ctx context.Context, q querier, w sdk.Window) ([]coverage.Interval, error) {
	got, err := st.lane(ctx, q, sdk.LaneRaw, []sdk.Stream{w.Stream})
	if err != nil || got[w.Stream] == nil {
		return nil, err
	}
	return got[w.Stream].Set.HeldWithin(coverage.Interval{From: w.From, Next: w.Next}), nil
}
