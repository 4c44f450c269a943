package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Record adds intervals to a lane, all or none: to raw under the streams'
// epochs, to another lane whoever says it. A void takes only what is neither
// held nor void yet.
func (st *Store) Record(ctx context.Context, conn *pgx.Conn, lane string, records []sdk.CoverageRecord) error {
	record := st.recordRaw
	if lane != sdk.LaneRaw {
		record = func(ctx context.Context, tx pgx.Tx, records []sdk.CoverageRecord) error {
			return st.recordLane(ctx, tx, lane, records)
		}
	}
	if err := inTx(ctx, conn, func(tx pgx.Tx) error { return record(ctx, tx, records) }); err != nil {
		return fmt.Errorf("record coverage of lane %s: %w", lane, err)
	}
	return nil
}

// recordRaw holds the streams' rows from the beginning: with the share lock of a
// transaction that writes rows this is no circle, because such a one waits for
// them at its end only, and coverage that it has changed by then is found to
// have moved there.
func (st *Store) recordRaw(ctx context.Context, tx pgx.Tx, records []sdk.CoverageRecord) error {
	var streams []sdk.Stream
	for _, r := range records {
		if len(r.SetAside) > 0 || r.LiveFloor != 0 {
			return sdk.Errorf(sdk.KindRejected, "", "stream %s: lane raw has no set-aside positions and no live floor", r.Stream)
		}
		streams = append(streams, r.Stream)
	}
	if err := st.ensure(ctx, tx, distinct(streams)); err != nil {
		return err
	}
	found, err := st.find(ctx, tx, distinct(streams), forShare)
	if err != nil {
		return err
	}
	for _, r := range records {
		s, known := found[r.Stream]
		if reason := fence(r.Stream, s, known, r.Epoch); reason != "" {
			return sdk.Errorf(sdk.KindFenced, "", "%s", reason)
		}
	}
	sets, err := st.read(ctx, tx, sdk.LaneRaw, found)
	if err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, r := range records {
		id := found[r.Stream].id
		if sets[id] == nil {
			sets[id] = &coverage.Set{}
		}
		st.queueRecord(b, found[r.Stream], sets[id], r)
	}
	return tx.SendBatch(ctx, b).Close()
}

// queueRecord adds rows; they are joined by whoever writes the stream next.
func (st *Store) queueRecord(b *pgx.Batch, s stream, set *coverage.Set, r sdk.CoverageRecord) {
	insert := func(i coverage.Interval, reason string) {
		// The same interval can have been recorded by a transaction that this
		// one did not see.
		b.Queue("insert into "+st.t.coverage+" (stream, lane, reason, from_position, next_position, crc) values ($1, 'raw', $2, $3, $4, $5)"+
			" on conflict (stream, lane, reason, from_position) do update set next_position = excluded.next_position, crc = excluded.crc where coverage.next_position < excluded.next_position",
			s.id, reason, i.From, i.Next, intervalSum(r.Stream, sdk.LaneRaw, reason, i))
	}
	for _, h := range r.Held {
		h.From = max(h.From, s.floor) // what was pruned stays so
		for _, i := range set.Missing(h) {
			insert(i, "")
			set.AddHeld(i)
		}
	}
	for _, v := range r.Void {
		for _, i := range set.Holes(v.Interval) {
			insert(i, v.Reason.String())
			set.AddVoid(coverage.Void{Interval: i, Reason: v.Reason})
		}
	}
}
