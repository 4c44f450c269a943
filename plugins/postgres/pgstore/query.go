package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// querier is a connection or a transaction.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// begin begins a transaction of the store. It holds rows that others wait for,
// the next owner of a stream among them, and takes a few round trips: one whose
// client stands still between two of them is ended soon. The access mode is
// left to the server's default: one that was made read-only must stay so.
const begin = "begin isolation level read committed; set local idle_in_transaction_session_timeout = '5s'"

// inTx runs f in a transaction.
func inTx(ctx context.Context, conn *pgx.Conn, f func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{BeginQuery: begin}, f)
}
