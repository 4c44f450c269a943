package pgstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// recordLane merges records into a lane besides raw. The rows of the live
// floors are locked first: whoever else records the same lane of these streams
// waits, and then merges into what this one has made of it.
func (st *Store) recordLane(ctx context.Context, tx pgx.Tx, lane string, records []sdk.CoverageRecord) error {
	found, err := st.recorded(ctx, tx, records)
	if err != nil {
		return err
	}
	ids := idsOf(found)
	if err := st.lockLane(ctx, tx, lane, ids); err != nil {
		return err
	}
	names := namesOf(found)
	rows, err := st.rows(ctx, tx, lane, names)
	if err != nil {
		return err
	}
	sets := map[streamID]*laneSet{}
	for _, id := range ids {
		sets[id] = newLaneSet()
	}
	for _, i := range rows {
		sets[i.stream].load(i)
	}
	floors := map[streamID]int64{}
	for _, r := range records {
		id := found[r.Stream].id
		sets[id].add(r)
		floors[id] = max(floors[id], r.LiveFloor)
	}
	b := &pgx.Batch{}
	st.queueLane(b, lane, names, ids, sets)
	st.queueFloors(b, lane, floors)
	return tx.SendBatch(ctx, b).Close()
}

// recorded finds the streams of records, making rows for those that have none,
// and checks the epochs that are given.
func (st *Store) recorded(ctx context.Context, tx pgx.Tx, records []sdk.CoverageRecord) (map[sdk.Stream]stream, error) {
	var streams []sdk.Stream
	l := noLock
	for _, r := range records {
		streams = append(streams, r.Stream)
		if !r.Epoch.IsZero() {
			l = forShare
		}
	}
	found, err := st.known(ctx, tx, streams, l)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		s, known := found[r.Stream]
		if r.Epoch.IsZero() {
			continue
		}
		if reason := fence(r.Stream, s, known, r.Epoch); reason != "" {
			return nil, sdk.Errorf(sdk.KindFenced, "", "%s", reason)
		}
	}
	return found, nil
}

// known finds streams and makes the rows that are missing.
func (st *Store) known(ctx context.Context, q querier, streams []sdk.Stream, l lock) (map[sdk.Stream]stream, error) {
	streams = distinct(streams)
	found, err := st.find(ctx, q, streams, l)
	if err != nil || len(found) == len(streams) {
		return found, err
	}
	if err := st.ensure(ctx, q, streams); err != nil {
		return nil, err
	}
	return st.find(ctx, q, streams, l)
}

func sortIDs(ids []streamID) {
	slices.SortFunc(ids, func(a, b streamID) int { return bytes.Compare(a[:], b[:]) })
}

// lockLane makes and locks the streams' rows of a lane, in the order of their
// ids, which it sorts.
func (st *Store) lockLane(ctx context.Context, tx pgx.Tx, lane string, ids []streamID) error {
	sortIDs(ids)
	b := &pgx.Batch{}
	b.Queue("insert into "+st.t.floors+" (stream, lane) select s, $2 from unnest($1::uuid[]) with ordinality u (s, n) order by n on conflict do nothing", ids, lane)
	b.Queue("select from "+st.t.floors+" where stream = any($1) and lane = $2 order by stream for update", ids, lane)
	return tx.SendBatch(ctx, b).Close()
}

// queueLane stores what has changed in the sets.
func (st *Store) queueLane(b *pgx.Batch, lane string, names map[streamID]sdk.Stream, ids []streamID, sets map[streamID]*laneSet) {
	var gone, put intervalColumns
	for _, id := range ids {
		g, p := sets[id].changes(id)
		gone.add(g)
		put.add(p)
	}
	if len(gone.stream) > 0 {
		b.Queue("delete from "+st.t.coverage+" c using unnest($2::uuid[], $3::text[], $4::bigint[]) g (stream, reason, from_position) where c.lane = $1 and c.stream = g.stream and c.reason = g.reason and c.from_position = g.from_position",
			lane, gone.stream, gone.reason, gone.from)
	}
	if len(put.stream) > 0 {
		b.Queue("insert into "+st.t.coverage+" (lane, stream, reason, from_position, next_position, crc) select $1, * from unnest($2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::integer[])"+
			" on conflict (stream, lane, reason, from_position) do update set next_position = excluded.next_position, crc = excluded.crc",
			lane, put.stream, put.reason, put.from, put.next, put.sums(names, lane))
	}
}

// intervalColumns are intervals as arrays.
type intervalColumns struct {
	stream     []streamID
	reason     []string
	from, next []int64
}

// sums are the checksums of the rows.
func (c *intervalColumns) sums(names map[streamID]sdk.Stream, lane string) []int32 {
	out := make([]int32, len(c.stream))
	for i, id := range c.stream {
		out[i] = intervalSum(names[id], lane, c.reason[i], coverage.Interval{From: c.from[i], Next: c.next[i]})
	}
	return out
}

func (c *intervalColumns) add(is []interval) {
	for _, i := range is {
		c.stream, c.reason = append(c.stream, i.stream), append(c.reason, i.reason)
		c.from, c.next = append(c.from, i.From), append(c.next, i.Next)
	}
}
