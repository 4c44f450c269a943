//go:build services

package storage

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	parquet "github.com/twg-io/twg/plugins/parquet/sink"
	pg "github.com/twg-io/twg/plugins/postgres/sink"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/test/faults/readback"
	"github.com/twg-io/twg/test/services/postgres"
)

// directory is what the Parquet sink writes to.
type directory string

func (d directory) plugin(t *testing.T) (sdk.Sink, sdk.Capabilities) {
	s := parquet.New()
	return s, configure(t, s, settings{"dir": string(d), "max_file_age": "500ms"})
}

func (d directory) files(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(string(d), "*.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func (d directory) rows(t *testing.T) map[string]map[int64]string {
	t.Helper()
	out := map[string]map[int64]string{}
	for _, name := range d.files(t) {
		f, err := readback.Parquet(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Rows {
			add(t, out, r.Incarnation, r.Position, string(r.Value))
		}
	}
	return out
}

func add(t *testing.T, out map[string]map[int64]string, incarnation string, position int64, value string) {
	t.Helper()
	if out[incarnation] == nil {
		out[incarnation] = map[int64]string{}
	}
	if before, twice := out[incarnation][position]; twice {
		t.Errorf("position %d of incarnation %q is there twice: %q and %q", position, incarnation, before, value)
	}
	out[incarnation][position] = value
}

// copyOf is a copy of the directory.
func (d directory) copyOf(t *testing.T) directory {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(string(d))); err != nil {
		t.Fatal(err)
	}
	return directory(to)
}

// database is what the PostgreSQL sink writes to.
type database struct{ *postgres.Server }

func newDatabase(t *testing.T) database {
	t.Helper()
	s, err := postgres.Start(t.Context(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return database{s}
}

func (d database) plugin(t *testing.T) (sdk.Sink, sdk.Capabilities) {
	s := pg.New()
	return s, configure(t, s, settings{"dsn": d.DSN(""), "table": "raw", "connect_patience": "1s", "max_backoff": "500ms"})
}

func (d database) rows(t *testing.T) map[string]map[int64]string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), d.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), "select incarnation, position, value from raw")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[int64]string{}
	var incarnation string
	var position int64
	var value []byte
	_, err = pgx.ForEachRow(rows, []any{&incarnation, &position, &value}, func() error {
		add(t, out, incarnation, position, string(value))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// both runs a test with each kind of store.
func both(t *testing.T, test func(t *testing.T, s store)) {
	t.Run("parquet", func(t *testing.T) { test(t, directory(filepath.Join(t.TempDir(), "lake"))) })
	t.Run("postgres", func(t *testing.T) { test(t, newDatabase(t)) })
}
