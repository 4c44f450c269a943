//go:build services

package pgstore

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/services/postgres"
)

// A host that stands still within a transaction of the store holds up nobody
// for long: the server ends it, and who waits for its rows goes on.
func TestTransactionOfAClientThatStandsStillIsEnded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := postgres.Start(ctx, postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var conns [2]*pgx.Conn
	for i := range conns {
		if conns[i], err = pgx.Connect(ctx, s.DSN("")); err != nil {
			t.Fatal(err)
		}
		defer conns[i].Close(ctx)
	}
	if _, err := conns[0].Exec(ctx, "create table t (n int); insert into t values (1)"); err != nil {
		t.Fatal(err)
	}
	err = inTx(ctx, conns[0], func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "update t set n = 2"); err != nil {
			return err
		}
		begun := time.Now() // from here on the client says nothing
		if _, err := conns[1].Exec(ctx, "update t set n = 3"); err != nil {
			return err
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("the other one waited for %s", took)
		}
		return nil
	})
	if err == nil {
		t.Error("a transaction that the server has ended was committed")
	}
	var n int
	if err := conns[1].QueryRow(ctx, "select n from t").Scan(&n); err != nil || n != 3 {
		t.Errorf("n is %d (%v), want 3", n, err)
	}
}
