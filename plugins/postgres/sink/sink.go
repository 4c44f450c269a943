// Package sink is the PostgreSQL sink: raw records become rows of a table, and
// what is held is noted in the same transaction (package pgstore). Its
// receipts say that the transaction was committed with synchronous_commit on.
package sink

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/plugins/postgres/pgdial"
	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/plugins/postgres/rawtable"
	"github.com/twg-io/twg/sdk"
)

// Sink implements sdk.Sink, sdk.RecoveryStore and sdk.Replayer.
type Sink struct {
	raw, lanes line          // for calls of the store
	spare      spare         // for reading rows back
	stall      time.Duration // how long a replay's reader may take nothing

	mu     sync.Mutex
	cfg    *config
	writer *writer // the newest session's
}

// config is what Configure has accepted.
type config struct {
	set  Settings
	dial *pgdial.Dialer
	name pgx.Identifier
}

// New returns a sink that is not configured.
func New() *Sink { return &Sink{stall: 5 * time.Minute} }

// Describe implements sdk.Plugin.
func (*Sink) Describe() sdk.Description {
	return sdk.Description{
		Name:    "postgres",
		Version: "0.1.0",
		Kind:    sdk.KindSink,
		Doc:     "Raw records as rows of a PostgreSQL table, once each, with coverage, cursors and epochs in the same transaction.",
		Schema:  sdk.SchemaOf(Settings{}),
	}
}

func (s *Sink) config() (*config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg == nil {
		return nil, sdk.Errorf(sdk.KindFatal, "open postgres sink", "it was not configured")
	}
	return s.cfg, nil
}

// within bounds how long connecting may take; zero: as the settings say.
func (c *config) within(bound time.Duration) *config {
	out := *c
	out.dial = c.dial.Within(bound)
	return &out
}

// opened is a connection whose database has the table and the store.
type opened struct {
	conn  *pgx.Conn
	table *rawtable.Table
	store *pgstore.Store
}

// open connects, and makes and checks the tables.
func (c *config) open(ctx context.Context) (*opened, error) {
	conn, err := c.dial.Connect(ctx)
	if err != nil {
		return nil, err
	}
	o := &opened{conn: conn}
	if err := c.prepare(ctx, o); err != nil {
		pgdial.Discard(conn)
		return nil, fmt.Errorf("prepare %s: %w", c.dial.Target(), err)
	}
	return o, nil
}

func (c *config) prepare(ctx context.Context, o *opened) (err error) {
	err = pgstore.Alone(ctx, o.conn, func(tx pgx.Tx) error {
		o.table, err = rawtable.Open(ctx, tx.Conn(), c.name, c.set.CreateTable)
		return err
	})
	if err != nil {
		return err
	}
	o.store = pgstore.New(c.set.StoreSchema, pgstore.Target{Name: o.table.Name(), SQL: o.table.SQL(), OID: o.table.OID, File: o.table.File})
	return o.store.Open(ctx, o.conn)
}

// Open implements sdk.Sink. It waits until the previous session's goroutines
// have ended; what its backends still do is ended before a stream is claimed
// again.
func (s *Sink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	if err := s.endSession(ctx); err != nil {
		return nil, err
	}
	cfg, err := s.config()
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, cfg, ses)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.writer = w
	s.mu.Unlock()
	return w, nil
}

func (s *Sink) endSession(ctx context.Context) error {
	s.mu.Lock()
	w := s.writer
	s.mu.Unlock()
	if w == nil {
		return nil
	}
	w.abort()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end session %d: %w", w.ses.ID, ctx.Err())
	}
}

// liveSession is the token of the session that runs; a random one if none does.
func (s *Sink) liveSession() [16]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writer != nil && !s.writer.over() {
		return s.writer.token
	}
	return newToken()
}

func newToken() (t [16]byte) {
	rand.Read(t[:]) // never fails
	return t
}

var errAborted = errors.New("the session was aborted")
