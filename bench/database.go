package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/services/postgres"
)

const (
	tableName = "bench"
	// rowsPerTx is the yardstick's; twg has its own default.
	rowsPerTx = 5000
)

// databaseSettings keep what the server does by itself, whenever it likes, out
// of the runs. fsync and synchronous_commit are on.
var databaseSettings = map[string]string{
	"shared_buffers":     "'512MB'",
	"max_wal_size":       "'8GB'",
	"min_wal_size":       "'2GB'", // log files are used again instead of made anew
	"checkpoint_timeout": "'1h'",
	"autovacuum":         "off",
}

// database is a PostgreSQL of our own.
type database struct {
	server *postgres.Server
	conn   *pgx.Conn
}

func startDatabase(ctx context.Context) (*database, error) {
	s, err := postgres.Start(ctx, postgres.Config{Settings: databaseSettings})
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, s.DSN(""))
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("connect to postgres: %w", err)
	}
	return &database{s, conn}, nil
}

func (d *database) close() {
	_ = d.conn.Close(context.Background())
	_ = d.server.Close()
}

// rawTable is a table of the database, written through so many connections.
// The yardstick has one.
type rawTable struct {
	database    *database
	connections int
}

// prepare drops what the last run has left and lets the server write out
// everything that it still has in memory.
func (r rawTable) prepare(ctx context.Context, _ task) error {
	for _, sql := range []string{
		"drop table if exists " + tableName, "drop table if exists " + tableName + "_coverage",
		"drop schema if exists _twg cascade", "checkpoint",
	} {
		if _, err := r.database.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

const postgresText = `  sink "postgres" "raw" {
    durable = true
    config {
      dsn         = %q
      table       = %q
      connections = %d
    }
  }
`

func (r rawTable) sink(task) string {
	return fmt.Sprintf(postgresText, r.database.server.DSN(""), tableName, r.connections)
}

func (r rawTable) yardstickArgs(task) []string {
	return []string{"-dsn", r.database.server.DSN(""), "-table", tableName, "-rows-per-tx", strconv.Itoa(rowsPerTx)}
}

// read checks the rows, and that the coverage says as much.
func (r rawTable) read(ctx context.Context, t task) (output, error) {
	o, err := readTable(ctx, r.database.conn, t.topics, t.options.Records)
	if err != nil {
		return o, err
	}
	return o, r.checkCoverage(ctx, t.records())
}

func readTable(ctx context.Context, conn *pgx.Conn, topics []string, n int64) (output, error) {
	var o output
	err := conn.QueryRow(ctx, "select pg_total_relation_size('"+tableName+"'::regclass), (select sum(hashtextextended(t::text, 0))::text from "+tableName+" t)").
		Scan(&o.bytes, &o.content)
	if err != nil {
		return o, fmt.Errorf("look at table %s: %w", tableName, err)
	}
	seen := newSeen(topics, n)
	rows, err := conn.Query(ctx, `select "_twg_record_id", topic, partition, position from `+tableName)
	if err != nil {
		return o, fmt.Errorf("read table %s: %w", tableName, err)
	}
	var x outputRow
	tag, err := pgx.ForEachRow(rows, []any{&x.ID, &x.Topic, &x.Partition, &x.Position}, func() error { return o.add(&x, seen) })
	if err != nil {
		return o, fmt.Errorf("read table %s: %w", tableName, err)
	}
	return o, checkCount("table holds", tag.RowsAffected(), topics, n)
}

func (r rawTable) checkCoverage(ctx context.Context, want int64) error {
	var product bool
	conn := r.database.conn
	if err := conn.QueryRow(ctx, "select to_regclass('_twg.coverage') is not null").Scan(&product); err != nil {
		return fmt.Errorf("read coverage: %w", err)
	}
	from := tableName + "_coverage"
	if product {
		from = "_twg.coverage where lane = 'raw' and reason = ''"
	}
	var got int64
	if err := conn.QueryRow(ctx, "select coalesce(sum(next_position - from_position), 0)::bigint from "+from).Scan(&got); err != nil {
		return fmt.Errorf("read coverage: %w", err)
	}
	if got != want {
		return fmt.Errorf("wrong result: the coverage is of %d positions, not %d", got, want)
	}
	return nil
}
