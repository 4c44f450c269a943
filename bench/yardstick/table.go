package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// tableSQL makes the raw table, with the product's columns, and one for
// coverage: a row a partition, [from_position, next_position).
const tableSQL = `create table %[1]s (
	"_twg_record_id" uuid primary key,
	cluster text not null, topic text not null, incarnation text not null, partition integer not null,
	position bigint not null, timestamp_ms bigint not null, key bytea, value bytea, headers bytea[]
);
create table %[1]s_coverage (partition integer primary key, from_position bigint not null, next_position bigint not null) with (fillfactor = 50)`

// table is a connection and the names.
type table struct {
	conn *pgconn.PgConn
	name string
}

func openTable(ctx context.Context, c config) (*table, error) {
	conn, err := pgconn.Connect(ctx, c.dsn)
	if err != nil {
		return nil, err
	}
	t := &table{conn, c.table}
	if err := t.exec(ctx, fmt.Sprintf(tableSQL, t.name)); err != nil {
		t.close()
		return nil, fmt.Errorf("create table %s: %w", t.name, err)
	}
	return t, nil
}

func (t *table) close() { _ = t.conn.Close(context.Background()) }

func (t *table) exec(ctx context.Context, sql string) error {
	_, err := t.conn.Exec(ctx, sql).ReadAll()
	return err
}

// write is one transaction: coverage, rows, commit, in two round trips. When
// it returns, the server has synced its log.
func (t *table) write(ctx context.Context, b *pgBatch) error {
	var sql strings.Builder
	sql.WriteString("begin; insert into " + t.name + "_coverage values ")
	for p, s := range b.spans {
		fmt.Fprintf(&sql, "(%d, %d, %d),", p, s.From, s.Next)
	}
	upsert := strings.TrimSuffix(sql.String(), ",") + " on conflict (partition) do update set next_position = excluded.next_position"
	tag, err := t.conn.CopyFrom(ctx, bytes.NewReader(b.rows), upsert+"; copy "+t.name+" from stdin (format binary)")
	if err == nil && tag.RowsAffected() != b.n {
		err = fmt.Errorf("%d rows were sent and %d counted", b.n, tag.RowsAffected())
	}
	if err == nil {
		err = t.exec(ctx, "commit")
	}
	if err != nil {
		return fmt.Errorf("write to table %s: %w", t.name, err)
	}
	return nil
}
