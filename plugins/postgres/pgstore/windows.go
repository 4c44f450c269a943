package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// states are the windows' states as they are stored.
var states = map[sdk.WindowState]string{sdk.WindowOpen: "open", sdk.WindowClaimed: "claimed", sdk.WindowUnrecoverable: "unrecoverable"}

func stateOf(stored string) sdk.WindowState {
	for s, name := range states {
		if name == stored {
			return s
		}
	}
	return sdk.WindowClaimed // nobody is to take what this program does not understand
}

// window is a row of the windows table.
type window struct {
	sdk.RecoveryWindow
	stream streamID
}

// windowColumns are what scanWindow reads, of w and its stream s.
const windowColumns = `w.id, w.lane, w.stream, s.cluster, s.topic, s.incarnation, s.partition, w.from_position, w.next_position, w.state, w.retry_set_aside,
	w.holder, w.fence, w.lease_version, case when w.state = 'claimed' then greatest(0, extract(epoch from w.lease_until - now()) * 1000)::bigint else 0 end`

func scanWindow(row pgx.CollectableRow) (w window, err error) {
	var state string
	var id, fence, version, lease int64
	err = row.Scan(&id, &w.Lane, &w.stream, &w.Stream.Cluster, &w.Stream.Topic, &w.Stream.Incarnation, &w.Stream.Partition, &w.From, &w.Next, &state, &w.RetrySetAside,
		&w.Holder, &fence, &version, &lease)
	w.ID, w.Fence, w.LeaseVersion = uint64(id), uint64(fence), uint64(version)
	w.State, w.Lease = stateOf(state), time.Duration(lease)*time.Millisecond
	return w, err
}

// Windows returns the windows of a lane by stream and position. One that is
// unrecoverable and that the lane has got all the same is withdrawn.
func (st *Store) Windows(ctx context.Context, conn *pgx.Conn, lane string) ([]sdk.RecoveryWindow, error) {
	var out []sdk.RecoveryWindow
	err := inTx(ctx, conn, func(tx pgx.Tx) error {
		all, err := st.windows(ctx, tx, lane)
		if err != nil {
			return err
		}
		var lost []window
		for _, w := range all {
			if w.State == sdk.WindowUnrecoverable {
				lost = append(lost, w)
			}
		}
		gone, err := st.withdrawLost(ctx, tx, lane, lost)
		for _, w := range all {
			if !gone[w.ID] {
				out = append(out, w.RecoveryWindow)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read windows of lane %s: %w", lane, err)
	}
	return out, nil
}

func (st *Store) windows(ctx context.Context, q querier, lane string) ([]window, error) {
	rows, err := q.Query(ctx, "select "+windowColumns+st.t.expand(" from {windows} w join {streams} s on s.id = w.stream where w.target = $1 and w.lane = $2"), st.target, lane)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, scanWindow)
	slices.SortFunc(all, func(a, b window) int {
		return cmp.Or(strings.Compare(a.Stream.Cluster, b.Stream.Cluster), strings.Compare(a.Stream.Topic, b.Stream.Topic), strings.Compare(a.Stream.Incarnation, b.Stream.Incarnation),
			cmp.Compare(a.Stream.Partition, b.Stream.Partition), cmp.Compare(a.From, b.From), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// withdrawLost deletes those of the windows, all unrecoverable, that the lane's
// coverage has.
func (st *Store) withdrawLost(ctx context.Context, q querier, lane string, lost []window) (gone map[uint64]bool, err error) {
	if len(lost) == 0 {
		return nil, nil
	}
	var ids []streamID
	for _, w := range lost {
		ids = append(ids, w.stream)
	}
	rows, err := st.rows(ctx, q, lane, ids)
	if err != nil {
		return nil, err
	}
	sets := map[streamID]*coverage.Set{}
	for _, i := range rows {
		if sets[i.stream] == nil {
			sets[i.stream] = &coverage.Set{}
		}
		i.addTo(sets[i.stream])
	}
	gone = map[uint64]bool{}
	var drop []int64
	for _, w := range lost {
		if set := sets[w.stream]; set != nil && set.Covers(coverage.Interval{From: w.From, Next: w.Next}) {
			gone[w.ID], drop = true, append(drop, int64(w.ID))
		}
	}
	if len(drop) > 0 {
		_, err = q.Exec(ctx, "delete from "+st.t.windows+" where id = any($1) and state = 'unrecoverable'", drop)
	}
	return gone, err
}

// withdraw does the same for streams whose coverage has just been recorded.
func (st *Store) withdraw(ctx context.Context, q querier, lane string, ids []streamID, sets map[streamID]*laneSet) error {
	rows, err := q.Query(ctx, "select id, stream, from_position, next_position from "+st.t.windows+" where stream = any($1) and lane = $2 and state = 'unrecoverable'", ids, lane)
	if err != nil {
		return err
	}
	var id int64
	var i interval
	var drop []int64
	_, err = pgx.ForEachRow(rows, []any{&id, &i.stream, &i.From, &i.Next}, func() error {
		if sets[i.stream].covered.Missing(i.Interval) == nil {
			drop = append(drop, id)
		}
		return nil
	})
	if err == nil && len(drop) > 0 {
		_, err = q.Exec(ctx, "delete from "+st.t.windows+" where id = any($1)", drop)
	}
	return err
}

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
