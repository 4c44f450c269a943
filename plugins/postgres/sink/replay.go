package sink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/internal/faultpoint"
	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/plugins/postgres/rawread"
	"github.com/twg-io/twg/sdk"
)

// spare keeps one connection for the next replay.
type spare struct {
	mu   sync.Mutex
	conn *opened
}

func (s *spare) take() *opened {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.conn
	s.conn = nil
	return o
}

func (s *spare) give(o *opened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		s.conn = o
		return
	}
	pgdial.Discard(o.conn)
}

// Replay implements sdk.Replayer. Each call has a connection of its own.
func (s *Sink) Replay(ctx context.Context, w sdk.Window, f func(*sdk.Batch) error) ([]sdk.Span, error) {
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	o := s.spare.take()
	if o == nil {
		if o, err = cfg.open(ctx); err != nil {
			return nil, err
		}
	}
	read, err := o.replay(ctx, s.stall, w, f)
	if err != nil {
		pgdial.Discard(o.conn)
		return nil, fmt.Errorf("replay [%d,%d) of %s: %w", w.From, w.Next, w.Stream, err)
	}
	s.spare.give(o)
	return read, nil
}

// replay reads coverage and rows in one snapshot: what is read is what was held
// at that moment, also while rows are written and pruned.
func (o *opened) replay(ctx context.Context, stall time.Duration, w sdk.Window, f func(*sdk.Batch) error) (read []sdk.Span, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, o.conn, snapshot, func(tx pgx.Tx) error {
		held, err := o.store.HeldWithin(ctx, tx, w)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, rawread.ByKey+limitStall(stall), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		r := rawread.New(o.conn.PgConn(), o.table.SQL(), w.Stream, sdk.DefaultLimits)
		for _, h := range held {
			err := r.Read(ctx, h, func(b *sdk.Batch) error {
				faultpoint.Hit("replay")
				return f(b)
			})
			if err != nil {
				return err
			}
			read = append(read, sdk.Span{Stream: w.Stream, From: h.From, Next: h.Next})
		}
		return nil
	})
	return read, err
}

// limitStall lets the server end a replay whose reader takes nothing: its
// snapshot would keep vacuum from all of the database. How long a statement
// takes is up to the reader, and a server that waits to send is stopped by no
// timeout but TCP's.
func limitStall(d time.Duration) string {
	return fmt.Sprintf("; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = %[1]d; set local tcp_user_timeout = %[1]d", d.Milliseconds())
}
