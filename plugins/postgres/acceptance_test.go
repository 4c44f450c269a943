//go:build services

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk/frame"
	"github.com/twg-io/twg/sdk/plugintest"
	"github.com/twg-io/twg/test/services/postgres"
)

// TestAcceptance holds the sink to the protocol, at a real server. Each case
// has a database of its own.
func TestAcceptance(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "twg-plugin-postgres")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := postgres.Start(t.Context(), postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	for _, connections := range []int{1, 3} {
		t.Run(fmt.Sprintf("connections=%d", connections), func(t *testing.T) {
			s := &suite{server: server, connections: connections}
			plugintest.Sink(t, plugintest.SinkConfig{Binary: bin, Target: s.target, Break: s.takeAway,
				Invalid: []string{`{"dsn":"","table":"t"}`, `{"dsn":"postgres://u:secret@h:notaport/d","table":"t"}`, `{"dsn":"postgres://h/d","table":"a.b.c"}`,
					`{"dsn":"postgres://h/d","table":"t","connections":0}`, `{"dsn":"postgres://h/d","table":"t","store_schema":"a\"b"}`}})
		})
	}
}

type suite struct {
	server      *postgres.Server
	connections int
}

var databases atomic.Int64

func (s *suite) target(t testing.TB) plugintest.Target {
	name := fmt.Sprintf("case%d", databases.Add(1))
	must(t, run(s.server.DSN(""), "create database "+name))
	dsn := s.server.DSN(name)
	return plugintest.Target{
		Settings: fmt.Sprintf(`{"dsn":%q,"table":"orders_raw","connections":%d,"connect_patience":"1s"}`, dsn, s.connections),
		ReadBack: func() ([]plugintest.Row, error) { return readBack(dsn) },
		Touched:  func() bool { return touched(dsn) },
	}
}

func run(dsn, statement string) error {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

func touched(dsn string) bool {
	return run(dsn, "create table orders_raw (); drop table orders_raw; create schema _twg; drop schema _twg") != nil
}

// takeAway gives the table another name.
func (s *suite) takeAway(t testing.TB, target plugintest.Target) (repair func()) {
	var dsn string
	if _, err := fmt.Sscanf(target.Settings, `{"dsn":%q`, &dsn); err != nil {
		t.Fatal(err)
	}
	must(t, run(dsn, "alter table orders_raw rename to away"))
	return func() { must(t, run(dsn, "alter table away rename to orders_raw")) }
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readBack(dsn string) ([]plugintest.Row, error) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `select r.topic, r.partition, r.position, r.timestamp_ms, r.key, r.value,
		array(select r.headers[i][1] from generate_subscripts(r.headers, 1) i order by i), array(select r.headers[i][2] from generate_subscripts(r.headers, 1) i order by i) from orders_raw r`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (plugintest.Row, error) {
		var out plugintest.Row
		var names, values [][]byte
		err := row.Scan(&out.Topic, &out.Partition, &out.Position, &out.TimestampMS, &out.Key, &out.Value, &names, &values)
		for i := range names {
			out.Headers = append(out.Headers, frame.Header{Name: string(names[i]), Value: values[i]})
		}
		return out, err
	})
}
