// Package rawtable is the table with the raw columns: it is made, checked, and
// written into, fast where all rows are new and carefully where they may not
// be.
package rawtable

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
)

// Table is a table that was found to be usable.
type Table struct {
	// OID and File say which table it is, and which files it has: File is its
	// pg_relation_filenode; 0 for a partitioned table, which has none.
	OID  uint32
	File int64

	name pgx.Identifier // schema and table
	sql  string         // the same, quoted
}

// Name is schema.table, as the store keeps it.
func (t *Table) Name() string { return strings.Join(t.name, ".") }

// SQL is the same, quoted.
func (t *Table) SQL() string { return t.sql }

// ParseName splits "schema.table" or "table". Parts are as they are in the
// database: nothing is folded, nothing is quoted. A table whose name has a dot
// is not for this.
func ParseName(name string) (pgx.Identifier, error) {
	parts := strings.Split(name, ".")
	if len(parts) > 2 {
		return nil, fmt.Errorf(`write "table" or "schema.table", without quotes`)
	}
	for _, p := range parts {
		if p == "" || len(p) > 63 || strings.ContainsAny(p, "\"\x00") {
			return nil, fmt.Errorf(`write "table" or "schema.table", without quotes; each part has 1 to 63 bytes`)
		}
	}
	return parts, nil
}

const createSQL = `create table if not exists %s (
	"_twg_record_id" uuid primary key,
	"cluster" text not null,
	"topic" text not null,
	"incarnation" text not null,
	"partition" integer not null,
	"position" bigint not null,
	"timestamp_ms" bigint not null,
	"key" bytea,
	"value" bytea,
	"headers" bytea[]
)`

// Open finds the table, makes it first if that is asked for, and refuses what
// rows cannot be written into durably and once.
func Open(ctx context.Context, conn *pgx.Conn, name pgx.Identifier, create bool) (*Table, error) {
	oid, err := lookup(ctx, conn, name)
	if err == nil && oid == 0 && create {
		if _, err = conn.Exec(ctx, fmt.Sprintf(createSQL, name.Sanitize())); err == nil {
			oid, err = lookup(ctx, conn, name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open table %s: %w", name.Sanitize(), err)
	}
	if oid == 0 {
		return nil, sdk.Errorf(sdk.KindFatal, "open table "+name.Sanitize(), "there is none; create it, or set create_table = true")
	}
	t, err := describe(ctx, conn, oid)
	if err != nil {
		return nil, fmt.Errorf("open table %s: %w", name.Sanitize(), err)
	}
	return t, nil
}

// lookup returns 0 if there is no such table.
func lookup(ctx context.Context, conn *pgx.Conn, name pgx.Identifier) (oid uint32, err error) {
	err = conn.QueryRow(ctx, "select coalesce(to_regclass($1)::oid, 0::oid)", name.Sanitize()).Scan(&oid)
	return oid, err
}

func copySQL(into string) string {
	return "copy " + into + " (" + copyrow.Columns + ") from stdin (format binary)"
}
