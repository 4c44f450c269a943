package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

// queueFloors raises live floors.
func (st *Store) queueFloors(b *pgx.Batch, lane string, floors map[streamID]int64) {
	var ids []streamID
	var to []int64
	for id, f := range floors {
		if f > 0 {
			ids, to = append(ids, id), append(to, f)
		}
	}
	if len(ids) > 0 {
		b.Queue("update "+st.t.floors+" f set live_floor = u.floor from unnest($1::uuid[], $2::bigint[]) u (stream, floor) where f.stream = u.stream and f.lane = $3 and f.live_floor < u.floor",
			ids, to, lane)
	}
}

// Floors returns the live floors of streams in a lane, and their raw floors.
func (st *Store) Floors(ctx context.Context, conn *pgx.Conn, lane string, streams []sdk.Stream) ([]sdk.Floors, error) {
	found, err := st.find(ctx, conn, distinct(streams), noLock)
	if err != nil {
		return nil, fmt.Errorf("read floors of lane %s: %w", lane, err)
	}
	rows, err := conn.Query(ctx, "select stream, live_floor from "+st.t.floors+" where stream = any($1) and lane = $2", idsOf(found), lane)
	if err != nil {
		return nil, fmt.Errorf("read floors of lane %s: %w", lane, err)
	}
	live := map[streamID]int64{}
	var id streamID
	var at int64
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		live[id] = at
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read floors of lane %s: %w", lane, err)
	}
	out := make([]sdk.Floors, len(streams))
	for i, k := range streams {
		out[i] = sdk.Floors{Stream: k, Live: live[found[k].id], Raw: found[k].floor}
	}
	return out, nil
}

// Streams returns the streams that have an epoch, or coverage in any lane.
func (st *Store) Streams(ctx context.Context, conn *pgx.Conn) ([]sdk.Stream, error) {
	rows, err := conn.Query(ctx, st.t.expand(`select s.cluster, s.topic, s.incarnation, s.partition from {streams} s
		where s.target = $1 and (s.epoch > 0 or exists (select from {coverage} c where c.stream = s.id)) order by 1, 2, 3, 4`), st.target)
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[sdk.Stream])
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	return out, nil
}
