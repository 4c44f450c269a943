package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/verdict"
	"github.com/twg-io/twg/sdk"
)

// upgradeWait is how long an upgrade may wait for the transactions that write,
// which meanwhile keep others waiting.
const upgradeWait = 10 * time.Second

// upgrade makes the tables, or what a later layout adds to them. A role that
// may not make any can work with those that were made for it.
func (st *Store) upgrade(ctx context.Context, conn *pgx.Conn) error {
	have, err := st.version(ctx, conn)
	if err != nil || have >= layout {
		return err
	}
	if have == 1 { // it has no checksums
		return st.older(have)
	}
	err = Alone(ctx, conn, func(tx pgx.Tx) error {
		if have, err = st.version(ctx, tx); err != nil || have >= layout { // another has done it
			return err
		}
		sql := makeThree
		if have == 0 {
			sql = makeTwo + makeThree
		}
		_, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d;", upgradeWait.Milliseconds())+st.t.expand(sql), pgx.QueryExecModeSimpleProtocol)
		return err
	})
	if verdict.Code(err) == "42501" && have > 0 { // insufficient_privilege
		return sdk.Errorf(sdk.KindFatal, "", "its tables have layout %d, this program needs layout %d, and the role may not change them: let their owner start this program once, or run what docs/plugins/postgres.md has under \"Layouts\": %w", have, layout, err)
	}
	return err
}

// version is the layout of the tables that are there; 0: some are missing, 1:
// layout 1, or one that nobody knows.
func (st *Store) version(ctx context.Context, q querier) (version int, err error) {
	var two, three bool
	err = q.QueryRow(ctx, "select (select bool_and(to_regclass(x) is not null) from unnest($1::text[]) x), (select bool_and(to_regclass(x) is not null) from unnest($2::text[]) x)",
		[]string{st.t.layout, st.t.targets, st.t.streams, st.t.coverage, st.t.cursors, st.t.backends}, []string{st.t.floors, st.t.windows}).Scan(&two, &three)
	if err != nil || !two {
		return 0, err
	}
	if err := q.QueryRow(ctx, "select coalesce(max(version), 0) from "+st.t.layout).Scan(&version); err != nil {
		return 0, err
	}
	if version == 0 { // the tables are there, and nothing says what they are
		return 1, nil
	}
	if version == layout && !three {
		return layout - 1, nil
	}
	return version, nil
}

func (st *Store) check(ctx context.Context, q querier) error {
	var version int
	var logged bool
	err := q.QueryRow(ctx, "select (select coalesce(max(version), 0) from "+st.t.layout+"), (select bool_and(relpersistence = 'p') from pg_class where oid = any($1::text[]::regclass[]))",
		[]string{st.t.targets, st.t.streams, st.t.coverage, st.t.cursors, st.t.floors, st.t.windows}).Scan(&version, &logged)
	switch {
	case err != nil:
		return err
	case version < layout:
		return st.older(version)
	case version > layout:
		return sdk.Errorf(sdk.KindFatal, "", "its tables have layout %d and this program knows layout %d; use the program that made them, or a newer one", version, layout)
	case !logged:
		return sdk.Errorf(sdk.KindFatal, "", "its tables are unlogged or temporary: a crash of the server would empty them; alter table ... set logged")
	}
	return nil
}

// older refuses tables that cannot be brought up to date.
func (st *Store) older(version int) error {
	return sdk.Errorf(sdk.KindFatal, "", "its tables have layout %d and this program knows layout %d; use the program that made them. Or drop schema %s: then everything is read from the source again, and rows that are there stay there once",
		version, layout, st.t.schema)
}
