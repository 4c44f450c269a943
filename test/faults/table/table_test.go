//go:build services

package table

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/faults/verify"
	"github.com/twg-io/twg/test/services/postgres"
)

func start(t *testing.T) (*postgres.Server, *Reader) {
	t.Helper()
	s, err := postgres.Start(t.Context(), postgres.Config{Settings: map[string]string{"track_commit_timestamp": "on"}})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(s.DSN(""))
	t.Cleanup(func() {
		r.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, r
}

func connect(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tablesSQL are the documented tables, as far as they are read here.
const tablesSQL = `
create table ` + Raw + ` ("_twg_record_id" uuid primary key, "cluster" text, "topic" text, "incarnation" text, "partition" integer, "position" bigint, "timestamp_ms" bigint, "key" bytea, "value" bytea, "headers" bytea[]);
create schema _twg;
create table _twg.streams (id uuid primary key, target text, "partition" integer, epoch bigint);
create table _twg.coverage (stream uuid, lane text, reason text, from_position bigint, next_position bigint);
create table _twg.backends (pid integer);
insert into _twg.streams values ('00000000-0000-0000-0000-000000000007', '` + Raw + `', 2, 0);`

func TestReaderReadsWhatIsCommitted(t *testing.T) {
	s, r := start(t)
	if held, err := r.Held(t.Context(), 2, 0, 9, time.Now()); err != nil || held != nil {
		t.Fatalf("without a table: %v, %v", held, err)
	}
	c := connect(t, s.DSN(""))
	_, err := c.Exec(t.Context(), tablesSQL)
	must(t, err)
	insert := `insert into ` + Raw + ` values (gen_random_uuid(), 'c', 't', 'i', 2, $1, 5, null, '', $2::bytea[])`
	_, err = c.Exec(t.Context(), insert, 4, `{{a,NULL},{a,""}}`)
	must(t, err)
	_, err = c.Exec(t.Context(), insert, 6, nil)
	must(t, err)
	tx, err := c.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), insert, 7, nil)
	must(t, err)
	must(t, r.with(t.Context(), func(*pgx.Conn) error { r.indexed = true; return nil })) // an index would wait for tx
	held, err := r.Held(t.Context(), 2, 4, 9, time.Now())
	slices.Sort(held)
	if err != nil || !slices.Equal(held, []int64{4, 6}) {
		t.Errorf("held %v, %v; want 4 and 6, and not 7, which is not committed", held, err)
	}
	must(t, tx.Rollback(t.Context()))

	got := map[int64]verify.Row{}
	must(t, r.Rows(t.Context(), Raw, func(rows []verify.Row) {
		for _, row := range rows {
			got[row.Position] = row
		}
	}))
	first := got[4]
	if first.Key != nil || first.Value == nil || len(got) != 2 || got[6].Headers != nil {
		t.Errorf("read %+v", got)
	}
	if want := []verify.Header{{Name: "a"}, {Name: "a", Value: []byte{}}}; !reflect.DeepEqual(first.Headers, want) {
		t.Errorf("headers %+v, want %+v", first.Headers, want)
	}
}

// A moment that is over is judged as it was, also by a database that was away
// since: it knows when it has committed what.
func TestHeldAtAMomentThatIsOver(t *testing.T) {
	s, r := start(t)
	c := connect(t, s.DSN(""))
	_, err := c.Exec(t.Context(), tablesSQL)
	must(t, err)
	for p := range 2 {
		_, err = c.Exec(t.Context(), `insert into `+Raw+` values (gen_random_uuid(), 'c', 't', 'i', 2, $1, 5)`, p)
		must(t, err)
	}
	tx, err := c.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), `insert into `+Raw+` values (gen_random_uuid(), 'c', 't', 'i', 2, 2, 5)`)
	must(t, err)
	at := time.Now() // a transaction counts from its commit, not from its beginning
	must(t, tx.Commit(t.Context()))
	s.Kill()
	if held, err := r.Held(t.Context(), 2, 0, 9, at); err == nil {
		t.Fatalf("held %v of a database that is away", held)
	}
	must(t, s.Start(t.Context()))
	for _, x := range []struct {
		at   time.Time
		want int
	}{{at, 2}, {time.Now(), 3}} {
		held, err := r.Held(t.Context(), 2, 0, 9, x.at)
		if err != nil || len(held) != x.want {
			t.Errorf("held %v, %v; want %d", held, err, x.want)
		}
	}
}

// Who commits a change of a stream's coverage after another has acquired the
// stream is found, also if the change was made before; its owner is not.
func TestStaleWriterIsFound(t *testing.T) {
	s, r := start(t)
	a, b := connect(t, s.DSN("")+"&application_name=a"), connect(t, s.DSN("")+"&application_name=b")
	if ready, err := r.WatchOwners(t.Context()); ready || err != nil {
		t.Fatalf("ready without tables: %t, %v", ready, err)
	}
	_, err := a.Exec(t.Context(), tablesSQL)
	must(t, err)
	for range 2 {
		if ready, err := r.WatchOwners(t.Context()); !ready || err != nil {
			t.Fatalf("ready %t, %v", ready, err)
		}
	}
	const acquire = "update _twg.streams set epoch = epoch + 1"
	const cover = "insert into _twg.coverage select '00000000-0000-0000-0000-000000000007', 'raw', '', coalesce(max(next_position), 0), coalesce(max(next_position), 0) + 1 from _twg.coverage"
	_, err = a.Exec(t.Context(), acquire)
	must(t, err)
	tx, err := a.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), cover)
	must(t, err)
	for _, statement := range []string{acquire, cover} {
		_, err = b.Exec(t.Context(), statement)
		must(t, err)
	}
	if stale, err := r.Stale(t.Context()); err != nil || len(stale) != 0 {
		t.Fatalf("%v, %v before the stale writer's commit", stale, err)
	}
	must(t, tx.Commit(t.Context()))
	stale, err := r.Stale(t.Context())
	if err != nil || len(stale) != 1 {
		t.Errorf("found %q, %v; want the one commit of a", stale, err)
	}
	held, voids, err := r.Coverage(t.Context())
	if err != nil || len(held) != 2 || len(voids) != 0 || held[0].Partition != 2 {
		t.Errorf("coverage %v, %v, %v", held, voids, err)
	}
}
