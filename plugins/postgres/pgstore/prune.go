package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/rawread"
	"github.com/twg-io/twg/sdk"
)

// pruneRows bounds what one transaction of a prune deletes.
const pruneRows = 50_000

// Prune deletes rows from the beginning of streams, and raises the raw floor in
// the transaction that deletes them. What was done before an error stays done.
func (st *Store) Prune(ctx context.Context, conn *pgx.Conn, ps []sdk.Prune, dryRun bool) ([]sdk.Pruned, error) {
	out := make([]sdk.Pruned, len(ps))
	for i, p := range ps {
		var err error
		if out[i], err = st.pruneStream(ctx, conn, p, dryRun); err != nil {
			return nil, fmt.Errorf("prune %s below %d, at %d: %w", p.Stream, p.Below, out[i].RawFloor, err)
		}
	}
	return out, nil
}

// pruner is a stream that is pruned.
type pruner struct {
	st     *Store
	id     streamID
	stream sdk.Stream
	prefix uint16
	below  int64     // never above raw's first hole
	older  time.Time // zero: any
	dryRun bool
}

func (st *Store) pruneStream(ctx context.Context, conn *pgx.Conn, p sdk.Prune, dryRun bool) (sdk.Pruned, error) {
	out := sdk.Pruned{Stream: p.Stream}
	found, err := st.find(ctx, conn, []sdk.Stream{p.Stream}, noLock)
	if err != nil {
		return out, err
	}
	s, known := found[p.Stream]
	if !known {
		return out, nil
	}
	sets, err := st.read(ctx, conn, sdk.LaneRaw, found)
	if err != nil || sets[s.id] == nil {
		return out, err
	}
	out.RawFloor = s.floor
	pr := &pruner{st: st, id: s.id, stream: p.Stream, prefix: rawread.Prefix(p.Stream), below: min(p.Below, sets[s.id].FirstHole()), older: p.OlderThan, dryRun: dryRun}
	for out.RawFloor < pr.below {
		c, err := pr.piece(ctx, conn, out.RawFloor)
		if err != nil {
			return out, err
		}
		out.RawFloor, out.Rows = max(out.RawFloor, c.floor), out.Rows+c.rows
		if !c.more {
			break
		}
	}
	return out, nil
}

// piece is what one transaction does.
type piece struct {
	floor int64
	rows  int64
	more  bool
}

func (p *pruner) piece(ctx context.Context, conn *pgx.Conn, floor int64) (c piece, err error) {
	err = inTx(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, rawread.ByKey, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		if c, err = p.next(ctx, tx, floor); err != nil || c.floor <= floor || p.dryRun {
			return err
		}
		tag, err := tx.Exec(ctx, "delete from "+p.st.table.SQL+" r where "+rowsOfStream, p.args(floor, c.floor)...)
		if err != nil {
			return err
		}
		c.rows = tag.RowsAffected()
		faultpoint.Hit("prune")
		_, err = tx.Exec(ctx, "update "+p.st.t.streams+" set raw_floor = greatest(raw_floor, $2) where id = $1", p.id, c.floor)
		return err
	})
	if err == nil && !p.dryRun {
		faultpoint.Hit("prune") // a second time: between two transactions
	}
	return c, err
}

const rowsOfStream = `r."_twg_record_id" between $1 and $2 and r."cluster" = $3 and r."topic" = $4 and r."incarnation" = $5 and r."partition" = $6`

// args are those of rowsOfStream, for positions [from, next).
func (p *pruner) args(from, next int64) []any {
	return []any{rawread.First(p.prefix, from), rawread.Last(p.prefix, next-1), p.stream.Cluster, p.stream.Topic, p.stream.Incarnation, p.stream.Partition}
}

// next finds how far the next transaction goes. A row that is too young, or has
// no time (-1), ends it.
func (p *pruner) next(ctx context.Context, tx pgx.Tx, floor int64) (piece, error) {
	older := int64(0)
	if !p.older.IsZero() {
		older = p.older.UnixMilli()
	}
	var n int64
	var last, young *int64
	err := tx.QueryRow(ctx, fmt.Sprintf(`select count(*), max(c.position), min(c.position) filter (where $7::boolean and (c.timestamp_ms >= $8 or c.timestamp_ms = -1))
		from (select r."position", r."timestamp_ms" from %s r where %s order by r."_twg_record_id" limit %d) c`, p.st.table.SQL, rowsOfStream, pruneRows),
		append(p.args(floor, p.below), !p.older.IsZero(), older)...).Scan(&n, &last, &young)
	switch {
	case err != nil:
		return piece{}, err
	case young != nil:
		rows, err := p.count(ctx, tx, floor, *young)
		return piece{floor: *young, rows: rows}, err
	case n == pruneRows:
		return piece{floor: *last + 1, rows: n, more: true}, nil
	}
	return piece{floor: p.below, rows: n}, nil
}

// count counts rows for a dry run; the others are told by what they delete.
func (p *pruner) count(ctx context.Context, tx pgx.Tx, from, next int64) (n int64, err error) {
	if !p.dryRun || from >= next {
		return 0, nil
	}
	err = tx.QueryRow(ctx, "select count(*) from "+p.st.table.SQL+" r where "+rowsOfStream, p.args(from, next)...).Scan(&n)
	return n, err
}
