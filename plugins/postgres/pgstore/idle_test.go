//go:build services

package pgstore

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/services/postgres"
)

// pair is two connections to a server of the test's own.
func pair(t *testing.T, ctx context.Context) (a, b *pgx.Conn) {
	t.Helper()
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
		t.Cleanup(func() { _ = conns[i].Close(context.WithoutCancel(ctx)) })
	}
	return conns[0], conns[1]
}

// soon wants f to be over long before a minute, after which the server ends any
// idle transaction.
func soon(t *testing.T, f func() error) error {
	t.Helper()
	begun := time.Now()
	err := f()
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("the other one waited for %s", took)
	}
	return err
}

// A host that stands still within a transaction of the store holds up nobody
// for long: the server ends it, and who waits for its rows goes on.
func TestTransactionOfAClientThatStandsStillIsEnded(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a, b := pair(t, ctx)
	if _, err := a.Exec(ctx, "create table t (n int); insert into t values (1)"); err != nil {
		t.Fatal(err)
	}
	err := inTx(ctx, a, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "update t set n = 2"); err != nil {
			return err
		}
		return soon(t, func() error { // the client says nothing meanwhile
			_, err := b.Exec(ctx, "update t set n = 3")
			return err
		})
	})
	if err == nil {
		t.Error("a transaction that the server has ended was committed")
	}
	var n int
	if err := b.QueryRow(ctx, "select n from t").Scan(&n); err != nil || n != 3 {
		t.Errorf("n is %d (%v), want 3", n, err)
	}
}

// A host that stands still while it opens the database holds back the start of
// others for no longer: they all take the same lock.
func TestHostThatStandsStillWhileItOpensHoldsBackNobodyForLong(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a, b := pair(t, ctx)
	err := Alone(ctx, a, func(pgx.Tx) error {
		return soon(t, func() error { return Alone(ctx, b, func(pgx.Tx) error { return nil }) })
	})
	if err == nil {
		t.Error("a transaction that the server has ended was committed")
	}
}
