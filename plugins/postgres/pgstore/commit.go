package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Words of an error that ends a transaction whose last check failed.
const (
	wordFenced = "twg: fenced"
	wordMoved  = "twg: coverage moved"
	// wordReplaced: the table has other files than when it was opened.
	wordReplaced = "twg: table replaced"
)

// ErrFenced: an epoch is not its stream's current one. ErrMoved: the coverage
// is not what the State says; it has to be read again.
var (
	ErrFenced = errors.New("an epoch is no longer current")
	ErrMoved  = errors.New("the coverage is not what it was when it was read")

	errReplaced = errors.New("the table was truncated, rewritten or replaced since the session began; it has to be checked again")
)

// Commit brings changes into the open transaction, checks the epochs of all of
// them, last, and commits, in one round trip. With an error the transaction is
// still open, unless the connection is gone.
func (st *Store) Commit(ctx context.Context, conn *pgx.Conn, changes []*Change) error {
	changes = slices.DeleteFunc(changes, func(c *Change) bool { return c.State.RowsOnly })
	slices.SortFunc(changes, func(a, b *Change) int { return bytes.Compare(a.State.id[:], b.State.id[:]) })
	b := &pgx.Batch{}
	for _, c := range changes {
		c.plan()
		st.queue(b, c)
	}
	st.queueCheck(b, changes)
	b.Queue("commit")
	return st.send(ctx, conn, b)
}

func (st *Store) send(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
	n := b.Len()
	res := conn.SendBatch(ctx, b)
	var tag pgconn.CommandTag
	var err error
	for range n {
		if tag, err = res.Exec(); err != nil {
			break
		}
	}
	if cerr := res.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return st.explain(err)
	}
	if tag.String() != "COMMIT" {
		return fmt.Errorf("the server answered %q to commit", tag)
	}
	return nil
}

// explain finds the last check's words. The message around them is in the
// server's language.
func (st *Store) explain(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
		return err
	case pg.Code == "22P02" && strings.Contains(pg.Message, wordFenced):
		return ErrFenced
	case pg.Code == "22P02" && strings.Contains(pg.Message, wordMoved):
		return ErrMoved
	case pg.Code == "22P02" && strings.Contains(pg.Message, wordReplaced):
		return errReplaced
	case pg.Code == "23505" && pg.TableName == "coverage" && strings.Contains(st.t.coverage, pgx.Identifier{pg.SchemaName, pg.TableName}.Sanitize()):
		return ErrMoved
	}
	return err
}

// queue queues a stream's statements. Each names what is stored exactly as it
// was read: where it has changed, nothing is done, and the check finds out.
func (st *Store) queue(b *pgx.Batch, c *Change) {
	id := c.State.id
	for _, i := range c.deletes {
		b.Queue("delete from "+st.t.coverage+" where stream = $1 and lane = 'raw' and reason = '' and from_position = $2 and next_position = $3", id, i.From, i.Next)
	}
	for _, u := range c.updates {
		b.Queue("update "+st.t.coverage+" set next_position = $4, crc = $5 where stream = $1 and lane = 'raw' and reason = '' and from_position = $2 and next_position = $3",
			id, u.From, u.Next, u.to, intervalSum(c.State.Stream, sdk.LaneRaw, "", coverage.Interval{From: u.From, Next: u.to}))
	}
	for _, i := range c.inserts {
		b.Queue("insert into "+st.t.coverage+" (stream, lane, reason, from_position, next_position, crc) values ($1, 'raw', '', $2, $3, $4)",
			id, i.From, i.Next, intervalSum(c.State.Stream, sdk.LaneRaw, "", i))
	}
	st.queueCursors(b, c)
}

// queueCheck queues the statement that fails unless every epoch is current and
// every interval is there. The share lock makes an Acquire wait for the commit
// or the commit see what it has issued.
func (st *Store) queueCheck(b *pgx.Batch, changes []*Change) {
	e := epochs{ids: []streamID{}} // not null, where there are none
	covered := []streamID{}
	var from, next []int64
	for _, c := range changes {
		e.add(c.State.id, c.State.Epoch)
		for _, i := range c.written() {
			covered, from, next = append(covered, c.State.id), append(from, i.From), append(next, i.Next)
		}
	}
	b.Queue(st.t.expand(`with locked as materialized (select id, epoch, token from {streams} where id = any($1) order by id for share)
		select (case
			when $9::boolean and (select count(*) from locked join unnest($1::uuid[], $2::bigint[], $3::uuid[]) w (id, epoch, token) using (id, epoch, token)) <> cardinality($1) then '`+wordFenced+`'
			when (select count(*) from {coverage} c join unnest($4::uuid[], $5::bigint[], $6::bigint[]) w (stream, from_position, next_position) using (stream, from_position, next_position)
				where c.lane = 'raw' and c.reason = '') <> cardinality($4) then '`+wordMoved+`'
			when pg_relation_filenode($7::oid::regclass)::bigint is distinct from nullif($8::bigint, 0) then '`+wordReplaced+`'
			else '1' end)::integer`), e.ids, e.numbers, e.tokens, covered, from, next, st.table.OID, st.table.File, useEpoch)
}

// epochs are epochs as arrays.
type epochs struct {
	ids     []streamID
	numbers []int64
	tokens  [][16]byte
}

func (e *epochs) add(id streamID, epoch sdk.Epoch) {
	e.ids, e.numbers, e.tokens = append(e.ids, id), append(e.numbers, int64(epoch.Number)), append(e.tokens, epoch.Token)
}
