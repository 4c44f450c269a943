package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// queueCursors stores a change's cursors and removes those below the newest
// one that the coverage reaches without a hole.
func (st *Store) queueCursors(b *pgx.Batch, c *Change) {
	if len(c.Cursors) == 0 {
		return
	}
	for _, k := range c.Cursors {
		b.Queue("insert into "+st.t.cursors+" (stream, position, token, crc) values ($1, $2, $3, $4) on conflict (stream, position) do update set token = excluded.token, crc = excluded.crc",
			c.State.id, k.Position, notNull(k.Token), cursorSum(c.State.Stream, k))
	}
	all := c.State.set.Clone()
	for _, i := range c.after {
		all.AddHeld(i)
	}
	b.Queue("delete from "+st.t.cursors+" where stream = $1 and position < (select max(position) from "+st.t.cursors+" where stream = $1 and position <= $2)",
		c.State.id, all.FirstHole())
}

func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// Cursors returns, for each stream that has one, the newest cursor at or below
// its contiguous frontier in lane raw.
func (st *Store) Cursors(ctx context.Context, conn *pgx.Conn, streams []sdk.Stream) ([]sdk.Cursor, error) {
	streams = distinct(streams)
	var out []sdk.Cursor
	err := inTx(ctx, conn, func(tx pgx.Tx) error {
		found, err := st.find(ctx, tx, streams, forShare) // so that coverage and cursors are of one moment
		if err != nil {
			return err
		}
		sets, err := st.read(ctx, tx, sdk.LaneRaw, found)
		if err != nil {
			return err
		}
		for _, k := range streams {
			c, ok, err := st.cursor(ctx, tx, k, found[k].id, sets[found[k].id])
			if err != nil {
				return err
			}
			if ok {
				out = append(out, c)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read cursors: %w", err)
	}
	return out, nil
}

func (st *Store) cursor(ctx context.Context, q querier, k sdk.Stream, id streamID, set *coverage.Set) (sdk.Cursor, bool, error) {
	frontier := int64(0)
	if set != nil {
		frontier = set.FirstHole()
	}
	c := sdk.Cursor{Stream: k}
	var crc int32
	err := q.QueryRow(ctx, "select position, token, crc from "+st.t.cursors+" where stream = $1 and position <= $2 order by position desc limit 1", id, frontier).
		Scan(&c.Position, &c.Token, &crc)
	switch {
	case err == pgx.ErrNoRows:
		return c, false, nil
	case err == nil && crc != cursorSum(k, c):
		err = st.damaged(st.t.cursors, id, k, fmt.Sprintf("of position %d", c.Position))
	}
	return c, err == nil, err
}
