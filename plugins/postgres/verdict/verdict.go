// Package verdict says what a PostgreSQL error means for a transaction that
// was to write rows: what became of it, and what is to be done next.
package verdict

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Verdict is what is to be done after an error.
type Verdict uint8

const (
	// Lost: the connection is gone or of no use, and what became of the
	// transaction is not known. Nothing may be assumed until its backend has
	// ended.
	Lost Verdict = iota + 1
	// Exists: a row with this key is there. The transaction was rolled back.
	Exists
	// Deadlock: another transaction wanted the same rows in another order.
	Deadlock
	// Data: a row will never be accepted.
	Data
	// Later: nothing is wrong with the rows; the same may work later.
	Later
)

// Of judges an error of a statement that writes rows into a table.
func Of(err error) Verdict {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || pg.Severity == "FATAL" || pg.Severity == "PANIC" {
		return Lost
	}
	switch pg.Code {
	case "23505":
		return Exists
	case "40P01":
		return Deadlock
	case "25006": // read-only: after a fail-over, this server is another's standby
		return Lost
	}
	switch class := pg.Code[:min(2, len(pg.Code))]; class {
	case "08", "57":
		if pg.Code == "57014" { // statement_timeout, or somebody cancelled it
			return Later
		}
		return Lost
	case "22", "23", "44", "54":
		return Data
	case "P0": // a trigger's raise
		return Data
	}
	return Later
}

// Code is the error's SQLSTATE; empty: it has none.
func Code(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.Code
	}
	return ""
}

// Line is the row that COPY was at, from 1; 0: the error does not say.
func Line(err error) int {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return 0
	}
	_, rest, ok := strings.Cut(pg.Where, "COPY ")
	if !ok {
		return 0
	}
	_, rest, ok = strings.Cut(rest, ", line ")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// Reason is the server's message without the values that stand in its detail.
func Reason(err error) string {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err.Error()
	}
	out := pg.Message + " (SQLSTATE " + pg.Code + ")"
	if pg.ColumnName != "" {
		out += ", column " + strconv.Quote(pg.ColumnName)
	}
	if pg.ConstraintName != "" {
		out += ", constraint " + strconv.Quote(pg.ConstraintName)
	}
	return out
}
