//go:build services

package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func start(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func connect(t *testing.T, s *Server) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func insert(t *testing.T, c *pgx.Conn, n int) error {
	t.Helper()
	_, err := c.Exec(t.Context(), "insert into t values ($1)", n)
	return err
}

func count(t *testing.T, s *Server) (n int) {
	t.Helper()
	must(t, connect(t, s).QueryRow(t.Context(), "select count(*) from t").Scan(&n))
	return n
}

func TestWhatWasCommittedOutlivesKillAndStop(t *testing.T) {
	s := start(t)
	port := s.Addr()
	c := connect(t, s)
	_, err := c.Exec(t.Context(), "create table t (n int)")
	must(t, err)
	must(t, insert(t, c, 1))
	tx, err := c.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "insert into t values (2)")
	must(t, err)
	s.Kill()
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("a commit at a killed server was answered")
	}
	must(t, s.Start(t.Context()))
	if n := count(t, s); n != 1 {
		t.Errorf("%d rows after the kill, want the one that was committed", n)
	}
	must(t, insert(t, connect(t, s), 3))
	must(t, s.Restart(t.Context()))
	if n := count(t, s); n != 2 || s.Addr() != port {
		t.Errorf("%d rows at %s after a restart, want 2 at %s", n, s.Addr(), port)
	}
}

func TestReadOnlyKeepsConnections(t *testing.T) {
	s := start(t)
	c := connect(t, s)
	_, err := c.Exec(t.Context(), "create table t (n int)")
	must(t, err)
	must(t, s.ReadOnly(t.Context(), true))
	wantReadOnly(t, insert(t, c, 1))
	must(t, s.ReadOnly(t.Context(), false))
	must(t, insert(t, c, 1))

	must(t, s.Demote(t.Context()))
	c = connect(t, s)
	wantReadOnly(t, insert(t, c, 2))
	must(t, s.Promote(t.Context()))
	must(t, insert(t, c, 2))
}

func wantReadOnly(t *testing.T, err error) {
	t.Helper()
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "25006" {
		t.Errorf("error %v, want 25006", err)
	}
}

func TestRestoreGoesBack(t *testing.T) {
	s := start(t)
	c := connect(t, s)
	_, err := c.Exec(t.Context(), "create table t (n int)")
	must(t, err)
	must(t, insert(t, c, 1))
	if _, err := s.Backup(t.Context()); err == nil {
		t.Error("a server that runs was backed up")
	}
	must(t, s.Stop(t.Context()))
	b, err := s.Backup(t.Context())
	must(t, err)
	must(t, s.Start(t.Context()))
	must(t, insert(t, connect(t, s), 2))
	must(t, s.Stop(t.Context()))
	must(t, s.Restore(t.Context(), b))
	must(t, s.Start(t.Context()))
	if n := count(t, s); n != 1 {
		t.Errorf("%d rows, want the 1 of the backup", n)
	}
}
