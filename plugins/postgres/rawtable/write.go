package rawtable

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/verdict"
	"github.com/twg-io/twg/sdk"
)

// Writer writes rows through one connection. It is not safe for concurrent
// use.
type Writer struct {
	conn *pgx.Conn
	t    *Table
	enc  encoder
}

// NewWriter returns a writer on conn, which stays the caller's.
func (t *Table) NewWriter(conn *pgx.Conn) *Writer { return &Writer{conn: conn, t: t} }

// begin leaves the access mode to the server's default: a server that was made
// read-only on purpose must stay so.
const begin = "begin isolation level read committed"

// Begin opens a transaction in which no row is written by Copy.
func (w *Writer) Begin(ctx context.Context) error { return w.exec(ctx, begin) }

// Copy opens a transaction and copies rows straight into the table. It leaves
// the transaction open, also with an error.
func (w *Writer) Copy(ctx context.Context, rows Rows) error {
	return w.copy(ctx, begin+"; "+copySQL(w.t.sql), rows)
}

func (w *Writer) copy(ctx context.Context, sql string, rows Rows) error {
	w.enc.reset(rows)
	return w.copyFrom(ctx, sql, &w.enc, rows.Len())
}

// copyFrom copies a stream of n rows. The server takes a stream that ends
// between two rows, without its trailer, for a whole one: only its count tells.
func (w *Writer) copyFrom(ctx context.Context, sql string, stream io.Reader, n int) error {
	tag, err := w.conn.PgConn().CopyFrom(ctx, stream, sql)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != int64(n) {
		return fmt.Errorf("%d rows were sent and the server counted %d", n, tag.RowsAffected())
	}
	return nil
}

func (w *Writer) exec(ctx context.Context, sql string) error {
	_, err := w.conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

// Refused is a row that the table will never take.
type Refused struct {
	Row    int // in the Rows that were given
	Reason string
}

const (
	stage    = "pg_temp.twg_stage"
	stageSQL = "create temporary table if not exists twg_stage on commit delete rows as select %s from %s with no data"
)

// Stage opens a transaction and brings rows into it that may be there already,
// or of which some may be refused: they go into a temporary table and from
// there into the table, unless their id is there. The rows in the result are
// in neither. It leaves the transaction open, also with an error.
func (w *Writer) Stage(ctx context.Context, rows Rows) ([]Refused, error) {
	if err := w.openStage(ctx); err != nil {
		return nil, err
	}
	return w.insert(ctx, rows, 0)
}

// insert tries rows at once, and in halves if one of them is refused.
func (w *Writer) insert(ctx context.Context, rows Rows, first int) ([]Refused, error) {
	n := rows.Len()
	if n == 0 {
		return nil, nil
	}
	if err := w.exec(ctx, "savepoint twg"); err != nil {
		return nil, err
	}
	err := w.insertOnce(ctx, rows)
	if err == nil {
		return nil, w.exec(ctx, "release twg")
	}
	if v := verdict.Of(err); v != verdict.Data && v != verdict.Exists { // another unique index of the table's
		return nil, err
	}
	if rerr := w.exec(ctx, "rollback to twg; release twg"); rerr != nil {
		return nil, errors.Join(err, rerr)
	}
	if n == 1 {
		return []Refused{{first, verdict.Reason(err)}}, nil
	}
	var out []Refused
	at := 0
	for _, end := range cuts(n, verdict.Line(err)) {
		more, err := w.insert(ctx, rows.Slice(at, end), first+at)
		if err != nil {
			return nil, err
		}
		out, at = append(out, more...), end
	}
	return out, nil
}

// cuts says where n rows are cut: around the line that COPY named, or in the
// middle. The last is n.
func cuts(n, line int) []int {
	switch {
	case line < 1 || line > n:
		return []int{n / 2, n}
	case line == 1:
		return []int{1, n}
	case line == n:
		return []int{n - 1, n}
	}
	return []int{line - 1, line, n}
}

func (w *Writer) insertOnce(ctx context.Context, rows Rows) error {
	if err := w.copy(ctx, copySQL(stage), rows); err != nil {
		return err
	}
	return w.fromStage(ctx, rows.Len())
}

// mismatch is fatal: two records have one id.
func mismatch(id, have, want string) error {
	return sdk.Errorf(sdk.KindFatal, "", "record id %s is of %s in the table and of %s here: two records have one id, or the table holds rows of another origin; nothing more is written until a person has looked at it", id, have, want)
}
