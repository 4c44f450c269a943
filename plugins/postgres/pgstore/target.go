package pgstore

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

// checkTarget makes sure that the coverage is about this very table. One that
// was emptied, or dropped and made again, does not hold what the coverage
// says: positions would be skipped that are nowhere.
func (st *Store) checkTarget(ctx context.Context, tx pgx.Tx) error {
	var oid uint32
	var file int64
	known := true
	err := tx.QueryRow(ctx, "select table_oid, file from "+st.t.targets+" where target = $1 for update", st.target).Scan(&oid, &file)
	switch {
	case err == pgx.ErrNoRows:
		known = false
	case err != nil:
		return err
	case oid == st.table.OID && file == st.table.File:
		return nil
	}
	var holds, empty bool
	err = tx.QueryRow(ctx, "select exists (select from "+st.t.coverage+" c join "+st.t.streams+" s on s.id = c.stream where s.target = $1 and c.lane = 'raw' and c.reason = '' and c.next_position > s.raw_floor), not exists (select from "+st.table.SQL+")", st.target).
		Scan(&holds, &empty)
	if err != nil {
		return err
	}
	if holds && (empty || known && oid != st.table.OID) {
		return st.replaced(empty)
	}
	_, err = tx.Exec(ctx, "insert into "+st.t.targets+" values ($1, $2, $3) on conflict (target) do update set table_oid = excluded.table_oid, file = excluded.file",
		st.target, st.table.OID, st.table.File)
	return err
}

func (st *Store) replaced(empty bool) error {
	what := "is another table than the one that coverage was kept for (it was dropped and made again, or restored from a dump)"
	forget := ""
	if empty {
		what = "is empty"
	} else {
		forget = "; if it does hold what coverage says: delete from " + st.t.targets + " where target = " + literal(st.target)
	}
	return sdk.Errorf(sdk.KindFatal, "", "table %s %s, so that what it held would be skipped. Restore it; or, to have everything read from the source again: delete from %s where stream in (select id from %s where target = %s)%s",
		st.target, what, st.t.coverage, st.t.streams, literal(st.target), forget)
}

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
