package pgstore

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// PlanWindows inserts the windows that overlap none of their stream. Planners of
// a lane take turns, under a lock that ends with the transaction: each sees
// what the ones before have inserted.
func (st *Store) PlanWindows(ctx context.Context, conn *pgx.Conn, lane string, ws []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	var out []sdk.RecoveryWindow
	err := inTx(ctx, conn, func(tx pgx.Tx) (err error) {
		out, err = st.plan(ctx, tx, lane, ws)
		if err == nil {
			faultpoint.Hit("plan")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("plan windows of lane %s: %w", lane, err)
	}
	faultpoint.Hit("plan") // a second time: they are there, and nobody was told
	return out, nil
}

func (st *Store) plan(ctx context.Context, tx pgx.Tx, lane string, ws []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	if err := checkPlan(lane, ws); err != nil || len(ws) == 0 {
		return nil, err
	}
	var streams []sdk.Stream
	for _, w := range ws {
		streams = append(streams, w.Stream)
	}
	found, err := st.known(ctx, tx, streams, noLock)
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1, $2)", planLock, st.lockKey(lane)); err != nil {
		return nil, err
	}
	taken, err := st.taken(ctx, tx, lane, idsOf(found))
	if err != nil {
		return nil, err
	}
	var fresh []sdk.RecoveryWindow
	for _, w := range ws {
		set, i := taken[found[w.Stream].id], coverage.Interval{From: w.From, Next: w.Next}
		if len(set.HeldWithin(i)) > 0 {
			continue
		}
		set.AddHeld(i)
		fresh = append(fresh, sdk.RecoveryWindow{Lane: lane, Window: w.Window, State: w.State, RetrySetAside: w.RetrySetAside})
	}
	return fresh, st.insertWindows(ctx, tx, lane, found, fresh)
}

func checkPlan(lane string, ws []sdk.RecoveryWindow) error {
	if lane == sdk.LaneRaw {
		return sdk.Errorf(sdk.KindRejected, "", "lane raw is what windows are read from")
	}
	for _, w := range ws {
		switch {
		case w.From < 0 || w.Next <= w.From || w.Next > sdk.MaxPosition:
			return sdk.Errorf(sdk.KindRejected, "", "window [%d,%d) of %s holds no position", w.From, w.Next, w.Stream)
		case w.State != sdk.WindowOpen && w.State != sdk.WindowUnrecoverable:
			return sdk.Errorf(sdk.KindRejected, "", "window [%d,%d) of %s cannot begin as %s", w.From, w.Next, w.Stream, w.State)
		}
	}
	return nil
}

// planLock is the first half of the key of a planner's lock; the other half is
// lockKey. Two lanes with one key only wait for each other.
const planLock = 0x74776777

func (st *Store) lockKey(lane string) int32 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%q %q %q", st.t.windows, st.target, lane)
	return int32(h.Sum32())
}

// taken are the positions of streams that are in a window.
func (st *Store) taken(ctx context.Context, q querier, lane string, ids []streamID) (map[streamID]*coverage.Set, error) {
	out := map[streamID]*coverage.Set{}
	for _, id := range ids {
		out[id] = &coverage.Set{}
	}
	rows, err := q.Query(ctx, "select stream, from_position, next_position from "+st.t.windows+" where stream = any($1) and lane = $2 order by stream, from_position", ids, lane)
	if err != nil {
		return nil, err
	}
	var i interval
	_, err = pgx.ForEachRow(rows, []any{&i.stream, &i.From, &i.Next}, func() error {
		out[i.stream].AddHeld(i.Interval)
		return nil
	})
	return out, err
}

// insertWindows stores windows and fills in their ids.
func (st *Store) insertWindows(ctx context.Context, q querier, lane string, found map[sdk.Stream]stream, ws []sdk.RecoveryWindow) error {
	if len(ws) == 0 {
		return nil
	}
	var c intervalColumns
	var retry []bool
	at := map[interval]int{}
	for n, w := range ws {
		i := interval{found[w.Stream].id, states[w.State], coverage.Interval{From: w.From, Next: w.Next}}
		c.add([]interval{i})
		retry = append(retry, w.RetrySetAside)
		at[i] = n
	}
	rows, err := q.Query(ctx, "insert into "+st.t.windows+` (target, lane, stream, state, from_position, next_position, retry_set_aside)
		select $1, $2, u.stream, u.state, u.f, u.n, u.retry from unnest($3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::boolean[]) with ordinality u (stream, state, f, n, retry, o) order by o
		returning id, stream, state, from_position, next_position`, st.target, lane, c.stream, c.reason, c.from, c.next, retry)
	if err != nil {
		return err
	}
	var id int64
	var i interval
	_, err = pgx.ForEachRow(rows, []any{&id, &i.stream, &i.reason, &i.From, &i.Next}, func() error {
		ws[at[i]].ID = uint64(id)
		return nil
	})
	return err
}
