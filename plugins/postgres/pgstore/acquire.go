package pgstore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/verdict"
	"github.com/twg-io/twg/sdk"
)

const (
	// bumpWait is how long an Acquire waits for a transaction under an older
	// epoch to end by itself. Its check and its commit are in one round trip,
	// so one that takes longer stands still, and is ended.
	bumpWait = 2 * time.Second
	// bumpTries bounds how often.
	bumpTries = 5
)

// Acquire issues the next epoch of each stream. Backends that are registered
// for the streams, but for those of session keep, are ended before it and
// after it: one that stands still in a COPY holds keys that the next owner's
// rows would wait for.
func (st *Store) Acquire(ctx context.Context, conn *pgx.Conn, keep [16]byte, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	if len(streams) == 0 {
		return nil, nil
	}
	out, err := st.acquire(ctx, conn, keep, owner, streams)
	if err != nil {
		return nil, fmt.Errorf("acquire epochs: %w", err)
	}
	return out, nil
}

func (st *Store) acquire(ctx context.Context, conn *pgx.Conn, keep [16]byte, owner string, streams []sdk.Stream) ([]sdk.Acquired, error) {
	if err := st.ensure(ctx, conn, distinct(streams)); err != nil {
		return nil, err
	}
	found, err := st.find(ctx, conn, distinct(streams), noLock)
	if err != nil {
		return nil, err
	}
	ids := idsOf(found)
	for try := 1; ; try++ {
		if err := st.evict(ctx, conn, keep, ids); err != nil {
			return nil, err
		}
		out, err := st.bump(ctx, conn, owner, streams)
		if verdict.Code(err) == "55P03" && try < bumpTries { // lock_timeout
			continue
		}
		if err != nil {
			return nil, err
		}
		faultpoint.Hit("acquire")
		// One that registered under the old epoch in between is ended too; none
		// can register under it any more.
		return out, st.evict(ctx, conn, keep, ids)
	}
}

func idsOf(found map[sdk.Stream]stream) []streamID {
	var ids []streamID
	for _, s := range found {
		ids = append(ids, s.id)
	}
	return ids
}

// namesOf are the streams by id.
func namesOf(found map[sdk.Stream]stream) map[streamID]sdk.Stream {
	names := make(map[streamID]sdk.Stream, len(found))
	for k, s := range found {
		names[s.id] = k
	}
	return names
}

func (st *Store) bump(ctx context.Context, conn *pgx.Conn, owner string, streams []sdk.Stream) (out []sdk.Acquired, err error) {
	err = inTx(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("set local lock_timeout = %d", bumpWait.Milliseconds())); err != nil {
			return err
		}
		found, err := st.find(ctx, tx, distinct(streams), forUpdate)
		if err != nil {
			return err
		}
		var e epochs
		for _, k := range streams {
			s, ok := found[k]
			if !ok {
				return fmt.Errorf("the row of stream %s has vanished", k)
			}
			a := sdk.Acquired{Stream: k, Epoch: sdk.Epoch{Number: s.epoch.Number + 1}, Previous: s.owner}
			rand.Read(a.Epoch.Token[:]) // never fails
			e.add(s.id, a.Epoch)
			out = append(out, a)
		}
		_, err = tx.Exec(ctx, "update "+st.t.streams+" s set epoch = w.epoch, token = w.token, owner = $4 from unnest($1::uuid[], $2::bigint[], $3::uuid[]) w (id, epoch, token) where s.id = w.id",
			e.ids, e.numbers, e.tokens, owner)
		return err
	})
	return out, err
}
