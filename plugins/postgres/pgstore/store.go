// Package pgstore keeps coverage, cursors and epochs of a raw table in tables
// beside it, so that they change in the transaction of the rows.
//
// docs/storage.md has the rules; the tables are in schema.go. Functions take
// the connection to work on; nothing is cached here, because a database can
// be restored between two connections.
package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/copyrow"
	"github.com/twg-io/twg/sdk"
)

// Store is the tables in one schema, for one raw table.
type Store struct {
	target string // the raw table's name
	table  Target
	t      tables
}

// Target is the raw table that coverage is about.
type Target struct {
	Name string // schema.table
	SQL  string // the same, quoted
	OID  uint32
	// File is its pg_relation_filenode, which changes when it is truncated or
	// rewritten. 0: it has none, being partitioned.
	File int64
}

// New returns the store in schema for a raw table.
func New(schema string, table Target) *Store {
	return &Store{table.Name, table, newTables(schema)}
}

// streamID is a stream's key. It is random: were it counted, then streams that
// are entered anew, after their table was emptied, would get the coverage of
// others.
type streamID = [16]byte

// stream is a stream's row.
type stream struct {
	id    streamID
	epoch sdk.Epoch
	owner string
	floor int64 // the raw floor
}

// lock is how a look-up holds the rows that it finds.
type lock string

const (
	noLock    lock = ""
	forShare  lock = "for share of s"
	forUpdate lock = "for update of s"
)

// find reads the rows of streams; a stream that has none is not in the result.
// Locks are taken in the order of the ids.
func (st *Store) find(ctx context.Context, q querier, streams []sdk.Stream, l lock) (map[sdk.Stream]stream, error) {
	n := columnsOf(streams)
	rows, err := q.Query(ctx, `select s.cluster, s.topic, s.incarnation, s.partition, s.id, s.epoch, s.token, s.owner, s.raw_floor from `+st.t.streams+` s
		where s.target = $1 and (s.cluster, s.topic, s.incarnation, s.partition) in (select * from unnest($2::text[], $3::text[], $4::text[], $5::integer[]))
		order by s.id `+string(l), st.target, n.cluster, n.topic, n.incarnation, n.partition)
	if err != nil {
		return nil, err
	}
	out := map[sdk.Stream]stream{}
	var k sdk.Stream
	var s stream
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&k.Cluster, &k.Topic, &k.Incarnation, &k.Partition, &s.id, &epoch, &s.epoch.Token, &s.owner, &s.floor}, func() error {
		s.epoch.Number = uint64(epoch)
		out[k] = s
		return nil
	})
	return out, err
}

// ensure makes the rows of streams that have none.
func (st *Store) ensure(ctx context.Context, q querier, streams []sdk.Stream) error {
	for _, s := range streams {
		if err := copyrow.Check(s); err != nil {
			return sdk.Errorf(sdk.KindFatal, "", "stream %s: %w", s, err)
		}
	}
	n := columnsOf(streams)
	_, err := q.Exec(ctx, `insert into `+st.t.streams+` (target, cluster, topic, incarnation, partition)
		select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::integer[]) order by 2, 3, 4, 5 on conflict do nothing`,
		st.target, n.cluster, n.topic, n.incarnation, n.partition)
	return err
}

// columns are streams as arrays.
type columns struct {
	cluster, topic, incarnation []string
	partition                   []int32
}

func columnsOf(streams []sdk.Stream) columns {
	var c columns
	for _, s := range streams {
		c.cluster, c.topic = append(c.cluster, s.Cluster), append(c.topic, s.Topic)
		c.incarnation, c.partition = append(c.incarnation, s.Incarnation), append(c.partition, s.Partition)
	}
	return c
}

// distinct sorts out streams that are named twice.
func distinct(streams []sdk.Stream) []sdk.Stream {
	var out []sdk.Stream
	seen := map[sdk.Stream]bool{}
	for _, s := range streams {
		if !seen[s] {
			seen[s], out = true, append(out, s)
		}
	}
	return out
}

// fence says why epoch e is not the one of a stream's row; empty: it is.
func fence(k sdk.Stream, s stream, known bool, e sdk.Epoch) string {
	switch {
	case s.epoch == e, !useEpoch:
		return ""
	case e.IsZero():
		return fmt.Sprintf("%s was acquired by %q (epoch %d) and the write has no epoch", k, s.owner, s.epoch.Number)
	case !known || s.epoch.IsZero():
		return fmt.Sprintf("the write has epoch %d of %s, which this database never issued", e.Number, k)
	case s.epoch.Number == e.Number:
		return fmt.Sprintf("%s was acquired by %q under the same number, %d, as this write's: the database was restored meanwhile", k, s.owner, e.Number)
	}
	return fmt.Sprintf("%s was acquired by %q (epoch %d); the write has epoch %d", k, s.owner, s.epoch.Number, e.Number)
}
