package pgstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

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
	names := map[streamID]sdk.Stream{}
	for _, w := range lost {
		names[w.stream] = w.Stream
	}
	rows, err := st.rows(ctx, q, lane, names)
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
		_, err = q.Exec(ctx, dropLost(st.t.windows), drop)
	}
	return gone, err
}

// dropLost leaves what another is just deleting to it, so that two of them do
// not wait for each other.
func dropLost(windows string) string {
	return "delete from " + windows + " where id in (select id from " + windows + " where id = any($1) and state = 'unrecoverable' for update skip locked)"
}
