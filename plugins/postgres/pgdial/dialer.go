// Package pgdial opens connections that a durable write can rely on: to a
// server that takes writes, with synchronous_commit and fsync on, with a
// backend of their own, and with time limits on both sides.
package pgdial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Options bound what a connection may take.
type Options struct {
	// ConnectTimeout bounds one attempt to connect, to each of the DSN's hosts.
	ConnectTimeout time.Duration
	// MaxBackoff bounds the pause between two attempts, Patience all of them
	// together.
	MaxBackoff time.Duration
	Patience   time.Duration
	// StatementTimeout ends a statement at the server. Zero: none.
	StatementTimeout time.Duration
	// Bound ends Connect in any case, also in the middle of an attempt. Zero:
	// nothing does but ctx.
	Bound time.Duration
}

// Dialer opens connections to one database. It may be used from any goroutine.
type Dialer struct {
	cfg *pgx.ConnConfig
	opt Options
}

var errDSN = errors.New(`it is neither a URL such as "postgres://user:password@host:5432/database?sslmode=verify-full" nor a list such as "host=h port=5432 dbname=d user=u", or it names a file that cannot be read`)

// New reads a DSN. Its error does not repeat it: there may be a password.
func New(dsn string, opt Options) (*Dialer, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	cfg.ConnectTimeout = opt.ConnectTimeout
	cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	cfg.OnNotice = func(*pgconn.PgConn, *pgconn.Notice) {}
	setParams(cfg.RuntimeParams, opt)
	return &Dialer{cfg, opt}, nil
}

// setParams sets what the session's guarantee rests on, whatever role and
// database have as defaults. The idle timeout and the keepalives are for
// backends whose client has vanished without a word.
func setParams(p map[string]string, opt Options) {
	if p["synchronous_commit"] != "remote_apply" { // that is on, and more
		p["synchronous_commit"] = "on"
	}
	p["client_encoding"] = "UTF8"
	p["statement_timeout"] = strconv.FormatInt(opt.StatementTimeout.Milliseconds(), 10)
	p["idle_in_transaction_session_timeout"] = "60000"
	p["tcp_keepalives_idle"] = "30"
	p["tcp_keepalives_interval"] = "10"
	p["tcp_keepalives_count"] = "3"
	if p["application_name"] == "" {
		p["application_name"] = "twg"
	}
}

// Target is the database's name, for people.
func (d *Dialer) Target() string {
	return net.JoinHostPort(d.cfg.Host, strconv.Itoa(int(d.cfg.Port))) + "/" + d.cfg.Database
}

// Within returns a dialer like d whose Connect takes at most bound. Zero: as
// long as d's.
func (d *Dialer) Within(bound time.Duration) *Dialer {
	opt := d.opt
	opt.Bound = bound
	return &Dialer{d.cfg, opt}
}

// Connect opens a connection. It tries again with a growing pause, until ctx
// ends or Options.Patience is at its end.
func (d *Dialer) Connect(ctx context.Context) (*pgx.Conn, error) {
	if d.opt.Bound > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.opt.Bound, fmt.Errorf("it was not reached within %s", d.opt.Bound))
		defer cancel()
	}
	began := time.Now()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, d.opt.MaxBackoff) {
		conn, err := d.once(ctx)
		if err == nil {
			return conn, nil
		}
		if _, wrong := errors.AsType[*unfit](err); wrong || time.Since(began)+pause > d.opt.Patience {
			return nil, d.explain(err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, d.explain(fmt.Errorf("%w: %w", context.Cause(ctx), err))
		}
	}
}

func (d *Dialer) once(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, d.cfg.Copy())
	if err != nil {
		return nil, err
	}
	if err := check(ctx, conn); err != nil {
		Discard(conn)
		return nil, err
	}
	return conn, nil
}

// explain names the database and leaves out what a driver's error repeats of
// the DSN.
func (d *Dialer) explain(err error) error {
	return fmt.Errorf("connect to %s: %w", d.Target(), err)
}

// Discard ends a connection without waiting for the server.
func Discard(conn *pgx.Conn) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	conn.Close(ctx)
}
