//go:build services

package rawtable

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/test/services/postgres"
)

// real is a writer to a table of a real server.
func real(t *testing.T) *Writer {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	conn, err := pgx.Connect(t.Context(), server.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(t.Context(), conn, pgx.Identifier{"raw"}, true)
	if err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return table.NewWriter(conn)
}

// A stream of rows that ends early, between two rows, is an error: the server
// would commit what came. One that ends inside a row it refuses itself.
func TestAStreamThatEndsEarlyIsAnError(t *testing.T) {
	w := real(t)
	rows := rowsOf(t, 10, 10, 10)
	for i := range rows { // ids of their own
		for k := rows[i].From; k < rows[i].To; k++ {
			rows[i].Batch.IDs[16*k] = byte(k)
		}
	}
	w.enc.reset(rows)
	whole, err := io.ReadAll(&w.enc)
	if err != nil {
		t.Fatal(err)
	}
	body := len(whole) - len(copyrow.Header) - len(copyrow.Trailer)
	for _, c := range []struct {
		name string
		end  int
		want string
	}{
		{"whole", len(whole), ""},
		{"without its trailer", len(whole) - len(copyrow.Trailer), ""},
		{"behind two rows", len(copyrow.Header) + body*2/3, "3 rows were sent and the server counted 2"},
		{"behind the header", len(copyrow.Header), "3 rows were sent and the server counted 0"},
		{"inside a row", len(copyrow.Header) + body/2, "unexpected EOF"},
	} {
		err := w.copyFrom(t.Context(), begin+"; "+copySQL(w.t.sql), io.LimitReader(strings.NewReader(string(whole)), int64(c.end)), rows.Len())
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if err := w.exec(t.Context(), "rollback"); err != nil {
			t.Fatal(err)
		}
	}
}
