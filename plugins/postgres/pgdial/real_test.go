//go:build services

package pgdial

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/test/services/postgres"
)

var options = Options{ConnectTimeout: 5 * time.Second, MaxBackoff: 100 * time.Millisecond, Patience: 5 * time.Second, StatementTimeout: time.Minute}

func start(t *testing.T, settings map[string]string) *postgres.Server {
	s, err := postgres.Start(t.Context(), postgres.Config{Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func connect(t *testing.T, dsn string) (*pgx.Conn, error) {
	d, err := New(dsn, options)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Connect(t.Context())
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

// Whatever role and database have as defaults, a commit waits for the disk.
func TestSynchronousCommitIsOn(t *testing.T) {
	s := start(t, map[string]string{"synchronous_commit": "off"})
	conn, err := connect(t, s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "alter role twg set synchronous_commit = off"); err != nil {
		t.Fatal(err)
	}
	conn, err = connect(t, s.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	var on string
	if err := conn.QueryRow(t.Context(), "show synchronous_commit").Scan(&on); err != nil || on != "on" {
		t.Errorf("synchronous_commit is %q, %v", on, err)
	}
}

func TestAServerThatDoesNotSyncIsRefused(t *testing.T) {
	s := start(t, map[string]string{"fsync": "off"})
	began := time.Now()
	_, err := connect(t, s.DSN(""))
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "fsync = off") {
		t.Errorf("%v, want a fatal error that names fsync", err)
	}
	if d := time.Since(began); d > options.Patience {
		t.Errorf("refused after %v: there is nothing to wait for", d)
	}
}

// A server that comes up while attempts are made is found.
func TestConnectWaitsForAServer(t *testing.T) {
	s := start(t, nil)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := New(s.DSN(""), Options{ConnectTimeout: time.Second, MaxBackoff: 100 * time.Millisecond, Patience: 30 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	found := make(chan error, 1)
	go func() {
		conn, err := d.Connect(t.Context())
		if err == nil {
			err = conn.Close(context.Background())
		}
		found <- err
	}()
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-found; err != nil {
		t.Error(err)
	}
}
