package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

// layout is the version of the tables. It is raised when a reader of the old
// ones would be wrong.
const layout = 2

// tables are the names, quoted.
type tables struct{ schema, layout, targets, streams, coverage, cursors, backends string }

func newTables(schema string) tables {
	in := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	return tables{pgx.Identifier{schema}.Sanitize(), in("layout"), in("targets"), in("streams"), in("coverage"), in("cursors"), in("backends")}
}

// The tables. Rows of streams and coverage are updated with every transaction,
// so their pages have room for the next version. backends is unlogged: what it
// says ends with the server's processes. There are no foreign keys, because
// each would cost a look-up a row.
const schemaSQL = `
create schema if not exists {schema};
create table if not exists {layout} (version integer not null);
create table if not exists {targets} (
	target text primary key,
	table_oid oid not null,
	file bigint not null
);
create table if not exists {streams} (
	id uuid primary key default gen_random_uuid(),
	target text not null,
	cluster text not null,
	topic text not null,
	incarnation text not null,
	partition integer not null,
	epoch bigint not null default 0 check (epoch >= 0),
	token uuid not null default '00000000-0000-0000-0000-000000000000',
	owner text not null default '',
	unique (target, cluster, topic, incarnation, partition)
) with (fillfactor = 50);
create table if not exists {coverage} (
	stream uuid not null,
	lane text not null,
	reason text not null,
	from_position bigint not null check (from_position >= 0),
	next_position bigint not null check (next_position > from_position and next_position <= 281474976710656),
	crc integer not null,
	primary key (stream, lane, reason, from_position)
) with (fillfactor = 50);
comment on column {coverage}.reason is 'empty: held; else the positions will never be delivered, and why';
comment on column {coverage}.crc is 'CRC-32C of the stream''s names and of the row, so that a damaged one is not believed';
create table if not exists {cursors} (
	stream uuid not null,
	position bigint not null,
	token bytea not null,
	crc integer not null,
	primary key (stream, position)
);
create unlogged table if not exists {backends} (
	pid integer not null,
	started timestamptz not null,
	session uuid not null,
	stream uuid not null,
	primary key (stream, pid, started)
);
insert into {layout} select {version} where not exists (select from {layout});
`

func (t tables) expand(sql string) string {
	return strings.NewReplacer("{version}", strconv.Itoa(layout), "{schema}", t.schema, "{layout}", t.layout, "{targets}", t.targets, "{streams}", t.streams,
		"{coverage}", t.coverage, "{cursors}", t.cursors, "{backends}", t.backends).Replace(sql)
}

// ddlLock is the key of the advisory lock under which the tables are made:
// "create ... if not exists" fails when two do it at the same time.
const ddlLock = 0x74776764646c

// Lock holds back others that make tables, until the transaction ends.
func Lock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(ddlLock))
	return err
}

// Open makes the tables that are missing, and refuses those of a later
// version, or ones that a crash would empty.
func (st *Store) Open(ctx context.Context, conn *pgx.Conn) error {
	op := "open offset store in schema " + st.t.schema
	there, err := st.there(ctx, conn)
	if err == nil && !there {
		err = inTx(ctx, conn, func(tx pgx.Tx) error {
			if err := Lock(ctx, tx); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, st.t.expand(schemaSQL), pgx.QueryExecModeSimpleProtocol)
			return err
		})
	}
	if err == nil {
		err = st.check(ctx, conn)
	}
	if err == nil {
		err = inTx(ctx, conn, func(tx pgx.Tx) error { return st.checkTarget(ctx, tx) })
	}
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// there reports whether all tables are, so that a role that may not make any
// can work with those that were made for it.
func (st *Store) there(ctx context.Context, q querier) (all bool, err error) {
	err = q.QueryRow(ctx, "select bool_and(to_regclass(x) is not null) from unnest($1::text[]) x",
		[]string{st.t.layout, st.t.targets, st.t.streams, st.t.coverage, st.t.cursors, st.t.backends}).Scan(&all)
	return all, err
}

func (st *Store) check(ctx context.Context, q querier) error {
	var version int
	var logged bool
	err := q.QueryRow(ctx, "select (select coalesce(max(version), 0) from "+st.t.layout+"), (select bool_and(relpersistence = 'p') from pg_class where oid = any($1::text[]::regclass[]))",
		[]string{st.t.targets, st.t.streams, st.t.coverage, st.t.cursors}).Scan(&version, &logged)
	switch {
	case err != nil:
		return err
	case version != layout:
		return sdk.Errorf(sdk.KindFatal, "", "its tables have layout %d and this program knows layout %d; use the program that made them. Or drop schema %s: then everything is read from the source again, and rows that are there stay there once",
			version, layout, st.t.schema)
	case !logged:
		return sdk.Errorf(sdk.KindFatal, "", "its tables are unlogged or temporary: a crash of the server would empty them; alter table ... set logged")
	}
	return nil
}
