package pgstore

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// layout is the version of the tables. It is raised when a reader of the old
// ones would be wrong.
const layout = 3

// tables are the names, quoted.
type tables struct {
	schema, layout, targets, streams, coverage, cursors, backends string // of layout 2
	floors, windows                                               string // of layout 3
}

func newTables(schema string) tables {
	in := func(table string) string { return pgx.Identifier{schema, table}.Sanitize() }
	return tables{pgx.Identifier{schema}.Sanitize(), in("layout"), in("targets"), in("streams"), in("coverage"), in("cursors"), in("backends"),
		in("floors"), in("windows")}
}

// The tables of layout 2, which makeThree turns into those of layout 3. Rows of
// streams and coverage are updated with every transaction, so their pages have
// room for the next version. backends is unlogged: what it
// says ends with the server's processes. There are no foreign keys, because
// each would cost a look-up a row.
const makeTwo = `
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
insert into {layout} select 2 where not exists (select from {layout});
`

// What layout 3 adds. Raw coverage is stored as in layout 2: what is below a
// stream's raw floor was pruned, whatever coverage says, so that pruning
// changes one row and gets in no writer's way. Windows have their target, too,
// so that a claim is a walk along one index.
const makeThree = `
alter table {streams} add column if not exists raw_floor bigint not null default 0 check (raw_floor >= 0);
comment on column {streams}.raw_floor is 'positions below it were pruned from the raw table, whatever coverage says';
comment on column {coverage}.reason is 'empty: held; set_aside: the lane''s sink refused it; else the positions will never be delivered, and why';
create table if not exists {floors} (
	stream uuid not null,
	lane text not null,
	live_floor bigint not null default 0 check (live_floor >= 0),
	primary key (stream, lane)
) with (fillfactor = 50);
create table if not exists {windows} (
	id bigint generated always as identity primary key,
	target text not null,
	lane text not null,
	stream uuid not null,
	from_position bigint not null check (from_position >= 0),
	next_position bigint not null check (next_position > from_position and next_position <= 281474976710656),
	state text not null check (state in ('open', 'claimed', 'unrecoverable')),
	retry_set_aside boolean not null default false,
	holder text not null default '',
	fence bigint not null default 0,
	lease_version bigint not null default 0,
	lease_until timestamptz not null default 'epoch'
);
create index if not exists windows_by_age on {windows} (target, lane, id);
create index if not exists windows_by_position on {windows} (stream, lane, from_position);
update {layout} set version = 3 where version < 3;
`

func (t tables) expand(sql string) string {
	return strings.NewReplacer("{schema}", t.schema, "{layout}", t.layout, "{targets}", t.targets, "{streams}", t.streams,
		"{coverage}", t.coverage, "{cursors}", t.cursors, "{backends}", t.backends, "{floors}", t.floors, "{windows}", t.windows).Replace(sql)
}

// ddlLock is the key of the advisory lock under which the tables are made:
// "create ... if not exists" fails when two do it at the same time.
const ddlLock = 0x74776764646c

// Alone runs f in a transaction beside which nobody else makes tables. Every
// process comes through here when it opens the database: one that stands still
// in f holds back the others for some seconds, then the server ends its
// transaction.
func Alone(ctx context.Context, conn *pgx.Conn, f func(pgx.Tx) error) error {
	return inTx(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", int64(ddlLock)); err != nil {
			return err
		}
		return f(tx)
	})
}

// Open makes the tables that are missing, brings those of an older layout up
// to this one, and refuses those of a later one, or ones that a crash would
// empty.
func (st *Store) Open(ctx context.Context, conn *pgx.Conn) error {
	err := st.upgrade(ctx, conn)
	if err == nil {
		err = st.check(ctx, conn)
	}
	if err == nil {
		err = inTx(ctx, conn, func(tx pgx.Tx) error { return st.checkTarget(ctx, tx) })
	}
	if err != nil {
		return fmt.Errorf("open offset store in schema %s: %w", st.t.schema, err)
	}
	return nil
}
