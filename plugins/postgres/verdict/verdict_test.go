package verdict

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Verdict
	}{
		{io.ErrUnexpectedEOF, Lost},
		{errors.New("10 rows were sent and the server counted 9"), Lost},
		{&pgconn.PgError{Code: "23505"}, Exists},
		{fmt.Errorf("copy: %w", &pgconn.PgError{Code: "40P01"}), Deadlock},
		{&pgconn.PgError{Code: "25006"}, Lost},
		{&pgconn.PgError{Code: "57P01", Severity: "FATAL"}, Lost}, // terminated
		{&pgconn.PgError{Code: "57P03"}, Lost},
		{&pgconn.PgError{Code: "57014"}, Later}, // statement timeout
		{&pgconn.PgError{Code: "08006"}, Lost},
		{&pgconn.PgError{Code: "22021"}, Data},
		{&pgconn.PgError{Code: "23514"}, Data},
		{&pgconn.PgError{Code: "54000"}, Data},
		{&pgconn.PgError{Code: "P0001"}, Data},
		{&pgconn.PgError{Code: "42P01"}, Later}, // the table was renamed
		{&pgconn.PgError{Code: "53100"}, Later}, // disk full
		{&pgconn.PgError{Code: "53100", Severity: "PANIC"}, Lost},
		{&pgconn.PgError{Code: "40001"}, Later},
		{&pgconn.PgError{Code: "?"}, Later},
	} {
		if got := Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

func TestLine(t *testing.T) {
	for where, want := range map[string]int{
		"COPY raw, line 3333, column value":                        3333,
		"COPY odd, name, line 2":                                   2,
		"PL/pgSQL function f() line 1 at RAISE\nCOPY raw, line 17": 17,
		"COPY raw":                              0,
		"":                                      0,
		"SQL statement, line 9":                 0,
		"COPY raw, line 9999999999999999999999": 0,
	} {
		if got := Line(&pgconn.PgError{Where: where}); got != want {
			t.Errorf("%q: line %d, want %d", where, got, want)
		}
	}
	if Line(io.EOF) != 0 {
		t.Error("an error of another kind has a line")
	}
}

// The server's detail repeats values; the reason does not.
func TestReasonHasNoValues(t *testing.T) {
	err := &pgconn.PgError{Message: "m", Code: "23514", Detail: "Failing row contains (secret).", ColumnName: "c", ConstraintName: "k"}
	if got, want := Reason(err), `m (SQLSTATE 23514), column "c", constraint "k"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
