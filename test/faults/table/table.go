// Package table reads the raw table and the coverage of the postgres sink with
// SQL of the harness's own: nothing of the product takes part.
package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/twg-io/twg/test/faults/verify"
)

// Raw is the name of the raw table of a run.
const Raw = "public.faults_raw"

// Copy is the table of a secondary, in the same database.
const (
	Copy      = "public." + copyTable
	copyTable = "faults_copy"
)

// Reader has one connection, which it opens when it needs it and gives up with
// an error: the database is taken away during a run. It is for one goroutine
// at a time.
type Reader struct {
	dsn  string
	conn *pgx.Conn
	// indexed: the table has the index that Held uses.
	indexed bool
}

// NewReader reads the database that dsn names.
func NewReader(dsn string) *Reader { return &Reader{dsn: dsn} }

// Close ends the connection.
func (r *Reader) Close() {
	if r.conn != nil {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.conn.Close(ctx)
		r.conn = nil
	}
}

func (r *Reader) with(ctx context.Context, f func(*pgx.Conn) error) (err error) {
	if r.conn == nil {
		if r.conn, err = pgx.Connect(ctx, r.dsn); err != nil {
			return fmt.Errorf("connect to the database: %w", err)
		}
	}
	if err = f(r.conn); err != nil {
		r.Close()
	}
	return err
}

// Held returns the positions in [from,next) of a partition that stood in the
// table at a moment that is over: their transactions had reached their commit
// by then. No table holds nothing. The server must run with
// track_commit_timestamp, and on this machine, whose clock both use.
func (r *Reader) Held(ctx context.Context, partition int32, from, next int64, at time.Time) (out []int64, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		if there, err := r.there(ctx, c); err != nil || !there {
			return err
		}
		rows, err := c.Query(ctx, `select "position" from `+Raw+` where "partition" = $1 and "position" >= $2 and "position" < $3
			and coalesce(pg_xact_commit_timestamp(xmin) <= $4, true)`, partition, from, next, at)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		return err
	})
	return out, err
}

// there makes the index once the table is: a look at every commit must not read
// all of the table.
func (r *Reader) there(ctx context.Context, c *pgx.Conn) (bool, error) {
	if r.indexed {
		return true, nil
	}
	var table, index bool
	err := c.QueryRow(ctx, "select to_regclass($1) is not null, to_regclass('public.faults_place') is not null", Raw).Scan(&table, &index)
	if err != nil || !table {
		return false, err
	}
	if !index {
		if _, err := c.Exec(ctx, `create index if not exists faults_place on `+Raw+` ("partition", "position")`); err != nil {
			return false, err
		}
	}
	r.indexed = true
	return true, nil
}

// Rows reads a whole table and hands it on in portions.
func (r *Reader) Rows(ctx context.Context, from string, take func([]verify.Row)) error {
	const portion = 1000
	return r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select "_twg_record_id", "cluster", "topic", "incarnation", "partition", "position", "timestamp_ms", "key", "value", "headers" from `+from)
		if err != nil {
			return fmt.Errorf("read %s: %w", from, err)
		}
		defer rows.Close()
		var out []verify.Row
		for rows.Next() {
			row, err := scan(rows)
			if err != nil {
				return fmt.Errorf("read %s: %w", from, err)
			}
			if out = append(out, row); len(out) == portion {
				take(out)
				out = nil
			}
		}
		take(out)
		return rows.Err()
	})
}

func scan(rows pgx.Rows) (row verify.Row, err error) {
	var headers pgtype.Array[[]byte]
	err = rows.Scan(&row.ID, &row.Cluster, &row.Topic, &row.Incarnation, &row.Partition, &row.Position, &row.TimestampMS, &row.Key, &row.Value, &headers)
	if err != nil {
		return row, err
	}
	row.Headers, err = pairs(headers)
	return row, err
}

// pairs takes rows of {name, value}.
func pairs(a pgtype.Array[[]byte]) (out []verify.Header, err error) {
	if !a.Valid {
		return nil, nil
	}
	if len(a.Dims) != 2 || a.Dims[1].Length != 2 {
		return nil, errors.New("headers are not rows of a name and a value")
	}
	for i := 0; i < len(a.Elements); i += 2 {
		out = append(out, verify.Header{Name: string(a.Elements[i]), Value: a.Elements[i+1]})
	}
	return out, nil
}

// Coverage reads what the offset store says is held, and what it says will
// never come.
func (r *Reader) Coverage(ctx context.Context) (held, voids []verify.Span, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select s."partition", c.from_position, c.next_position, c.reason
			from _twg.coverage c join _twg.streams s on s.id = c.stream where c.lane = 'raw' and s.target = $1`, Raw)
		if err != nil {
			return fmt.Errorf("read coverage: %w", err)
		}
		s, reason := verify.Span{File: "coverage"}, ""
		_, err = pgx.ForEachRow(rows, []any{&s.Partition, &s.From, &s.Next, &reason}, func() error {
			if reason == "" {
				held = append(held, s)
			} else {
				voids = append(voids, s)
			}
			return nil
		})
		return err
	})
	return held, voids, err
}
