package rawtable

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

// types of the raw columns, as format_type writes them.
var types = map[string]string{
	"_twg_record_id": "uuid", "cluster": "text", "topic": "text", "incarnation": "text", "partition": "integer",
	"position": "bigint", "timestamp_ms": "bigint", "key": "bytea", "value": "bytea", "headers": "bytea[]",
}

// describe checks a table: it is a permanent one, with the raw columns, and
// with a key on the record id that on conflict can use.
func describe(ctx context.Context, conn *pgx.Conn, oid uint32) (*Table, error) {
	t := &Table{OID: oid, name: make(pgx.Identifier, 2)}
	var kind, persistence string
	err := conn.QueryRow(ctx, "select n.nspname, c.relname, c.relkind::text, c.relpersistence::text, coalesce(pg_relation_filenode(c.oid)::bigint, 0) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1", oid).
		Scan(&t.name[0], &t.name[1], &kind, &persistence, &t.File)
	if err != nil {
		return nil, err
	}
	t.sql = t.name.Sanitize()
	switch {
	case kind != "r" && kind != "p":
		return nil, sdk.Errorf(sdk.KindFatal, "", "it is not a table (pg_class.relkind %q)", kind)
	case persistence == "t":
		return nil, sdk.Errorf(sdk.KindFatal, "", "it is temporary: its rows end with the connection")
	}
	for _, f := range []func(context.Context, *pgx.Conn, uint32) error{checkLogged, checkColumns, checkKey} {
		if err := f(ctx, conn, oid); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// checkLogged looks at the table and all its partitions.
func checkLogged(ctx context.Context, conn *pgx.Conn, oid uint32) error {
	var unlogged []string
	err := conn.QueryRow(ctx, `select coalesce(array_agg(c.oid::regclass::text), '{}') from pg_class c
		where c.relpersistence <> 'p' and (c.oid = $1 or c.oid in (select relid from pg_partition_tree($1::oid::regclass)))`, oid).Scan(&unlogged)
	if err == nil && len(unlogged) > 0 {
		err = sdk.Errorf(sdk.KindFatal, "", "%s is unlogged: a crash of the server empties it; alter table %s set logged", unlogged[0], unlogged[0])
	}
	return err
}

func checkColumns(ctx context.Context, conn *pgx.Conn, oid uint32) error {
	rows, err := conn.Query(ctx, `select attname::text, format_type(atttypid, null), attnotnull and not atthasdef and attidentity = '' and attgenerated = ''
		from pg_attribute where attrelid = $1 and attnum > 0 and not attisdropped`, oid)
	if err != nil {
		return err
	}
	type column struct {
		Name, Type string
		Must       bool
	}
	have, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	if err != nil {
		return err
	}
	var problems []string
	found := map[string]bool{}
	for _, c := range have {
		want, ours := types[c.Name]
		found[c.Name] = true
		switch {
		case ours && c.Type != want:
			problems = append(problems, fmt.Sprintf("column %q is %s, not %s", c.Name, c.Type, want))
		case !ours && c.Must:
			problems = append(problems, fmt.Sprintf("column %q is not null, has no default, and is none of the raw columns", c.Name))
		}
	}
	for name, typ := range types {
		if !found[name] {
			problems = append(problems, fmt.Sprintf("column %q %s is missing", name, typ))
		}
	}
	if len(problems) > 0 {
		return sdk.Errorf(sdk.KindFatal, "", "it does not have the raw columns: %s", strings.Join(problems, "; "))
	}
	return nil
}

func checkKey(ctx context.Context, conn *pgx.Conn, oid uint32) error {
	var ok bool
	err := conn.QueryRow(ctx, `select exists (select from pg_index i
		join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
		where i.indrelid = $1 and i.indnkeyatts = 1 and a.attname = '_twg_record_id'
			and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null)`, oid).Scan(&ok)
	if err == nil && !ok {
		err = sdk.Errorf(sdk.KindFatal, "", "it has no primary key or unique index on _twg_record_id alone that is valid and not deferrable: rows that come again would be there twice")
	}
	return err
}
