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

func (i interval) addTo(set *coverage.Set) {
	if i.reason == "" {
		set.AddHeld(i.Interval)
		return
	}
	set.AddVoid(coverage.Void{Interval: i.Interval, Reason: reasons[i.reason]})
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

// read reads the coverage of streams, by id.
func (st *Store) read(ctx context.Context, q querier, lane string, found map[sdk.Stream]stream) (map[streamID]*coverage.Set, error) {
	names := map[streamID]sdk.Stream{}
	for k, s := range found {
		names[s.id] = k
	}
	rows, err := st.rows(ctx, q, lane, names)
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
	found, err := st.find(ctx, conn, distinct(streams), noLock)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	sets, err := st.read(ctx, conn, lane, found)
	if err != nil {
		return nil, fmt.Errorf("read coverage: %w", err)
	}
	out := make([]sdk.StreamCoverage, len(streams))
	for i, k := range streams {
		out[i] = sdk.StreamCoverage{Stream: k, Set: &coverage.Set{}}
		if set := sets[found[k].id]; set != nil {
			out[i].Set = set
		}
	}
	return out, nil
}
