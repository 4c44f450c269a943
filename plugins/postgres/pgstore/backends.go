package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

const (
	// evictWait is how long a backend that was told to end may take.
	evictWait = 10 * time.Second
	evictPoll = 20 * time.Millisecond
)

// evict ends the backends that are registered for streams, idle ones too, but
// for those of session keep, and waits until they are gone: what they had under
// way is then committed or rolled back. A cancel would not do, and a timeout
// neither: while a backend waits for its client in a COPY, none of them fires.
func (st *Store) evict(ctx context.Context, conn *pgx.Conn, keep [16]byte, ids []streamID) error {
	if !useEpoch {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, evictWait)
	defer cancel()
	for {
		var told int
		var left int32
		err := conn.QueryRow(ctx, st.t.expand(`select count(pg_terminate_backend(x.pid)), coalesce(min(x.pid), 0) from (select distinct b.pid from {backends} b
			join pg_stat_activity a on a.pid = b.pid and a.backend_start = b.started
			where b.stream = any($1) and b.session <> $2 and b.pid <> pg_backend_pid()) x`), ids, keep).Scan(&told, &left)
		if err != nil {
			return fmt.Errorf("end the backends of an older owner: %w", err)
		}
		if told == 0 {
			return nil
		}
		select {
		case <-time.After(evictPoll):
		case <-ctx.Done():
			return fmt.Errorf("end the backends of an older owner: backend %d does not end: %w", left, ctx.Err())
		}
	}
}

// Claim is a stream that a connection is going to write under an epoch.
type Claim struct {
	Stream sdk.Stream
	Epoch  sdk.Epoch
}

// Claim registers the connection's backend under session for the streams of
// claims, ends the backends of other sessions that are registered for them,
// and reads what is held. Claims whose epoch is not current are in fenced,
// with the reason.
//
// It is a transaction of its own, under a share lock on the streams, so that an
// Acquire either sees the backend or is seen here.
func (st *Store) Claim(ctx context.Context, conn *pgx.Conn, session [16]byte, claims []Claim) (states map[Claim]*State, fenced map[Claim]string, err error) {
	err = inTx(ctx, conn, func(tx pgx.Tx) error {
		states, fenced, err = st.register(ctx, tx, session, claims)
		return err
	})
	if err == nil {
		err = st.evict(ctx, conn, session, fencedIDs(states))
	}
	if err == nil {
		err = st.Reload(ctx, conn, states)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("claim streams: %w", err)
	}
	return states, fenced, nil
}

// fencedIDs are the streams that have an epoch. Without one nobody knows who
// else may write, so nobody is ended.
func fencedIDs(states map[Claim]*State) (ids []streamID) {
	for _, s := range states {
		if !s.Epoch.IsZero() {
			ids = append(ids, s.id)
		}
	}
	return ids
}

func (st *Store) register(ctx context.Context, tx pgx.Tx, session [16]byte, claims []Claim) (map[Claim]*State, map[Claim]string, error) {
	var streams, open []sdk.Stream
	for _, c := range claims {
		streams = append(streams, c.Stream)
		if c.Epoch.IsZero() || !useEpoch {
			open = append(open, c.Stream)
		}
	}
	if err := st.ensure(ctx, tx, distinct(open)); err != nil {
		return nil, nil, err
	}
	found, err := st.find(ctx, tx, distinct(streams), forShare)
	if err != nil {
		return nil, nil, err
	}
	states, fenced := map[Claim]*State{}, map[Claim]string{}
	var ids []streamID
	for _, c := range claims {
		s, known := found[c.Stream]
		if reason := fence(c.Stream, s, known, c.Epoch); reason != "" {
			fenced[c] = reason
			continue
		}
		states[c] = &State{Stream: c.Stream, Epoch: c.Epoch, id: s.id, floor: s.floor}
		ids = append(ids, s.id)
	}
	_, err = tx.Exec(ctx, st.t.expand(`with gone as (delete from {backends} where ctid in (select b.ctid from {backends} b
			where not exists (select from pg_stat_activity a where a.pid = b.pid and coalesce(a.backend_start, b.started) = b.started) for update skip locked))
		insert into {backends} (pid, started, session, stream) select pg_backend_pid(), a.backend_start, $1, s
			from pg_stat_activity a, unnest($2::uuid[]) s where a.pid = pg_backend_pid()
		on conflict (stream, pid, started) do update set session = excluded.session`), session, ids)
	return states, fenced, err
}

// Reload reads what is held of each stream again.
func (st *Store) Reload(ctx context.Context, conn *pgx.Conn, states map[Claim]*State) error {
	byID, names := map[streamID]*State{}, map[streamID]sdk.Stream{}
	for _, s := range states {
		fresh := State{Stream: s.Stream, Epoch: s.Epoch, id: s.id, floor: s.floor}
		*s = fresh
		byID[s.id] = s
		names[s.id] = s.Stream
	}
	rows, err := st.rows(ctx, conn, sdk.LaneRaw, names)
	for _, i := range rows {
		s := byID[i.stream]
		if i.reason == "" {
			s.held = append(s.held, i.Interval)
		}
		i.addTo(&s.set)
	}
	return err
}
