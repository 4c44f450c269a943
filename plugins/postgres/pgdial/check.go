package pgdial

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
)

// minVersion is PostgreSQL 13.
const minVersion = 130000

// unfit: the server is there and cannot be written to durably; another
// attempt would find the same.
type unfit struct{ error }

func (u *unfit) Unwrap() error { return u.error }

func unfitf(format string, args ...any) error {
	return &unfit{sdk.Errorf(sdk.KindFatal, "", format, args...)}
}

// check makes sure that a connection is what it seems to be. A pooler can give
// each transaction another backend and swallow session settings: then neither
// the backend that is registered nor synchronous_commit is ours.
func check(ctx context.Context, conn *pgx.Conn) error {
	var commit, fsync string
	var version int
	var pid uint32
	err := conn.QueryRow(ctx, "select current_setting('synchronous_commit'), current_setting('fsync'), current_setting('server_version_num')::int, pg_backend_pid()").
		Scan(&commit, &fsync, &version, &pid)
	switch {
	case err != nil:
		return fmt.Errorf("ask the server for its settings: %w", err)
	case version < minVersion:
		return unfitf("the server is PostgreSQL %d; at least 13 is needed", version/10000)
	case fsync != "on":
		return unfitf("the server runs with fsync = %s, so nothing that it confirms is durable; turn it on", fsync)
	case pid != conn.PgConn().PID():
		return unfitf("a connection pooler stands between: the backend is %d and the connection says %d; name the server itself in dsn", pid, conn.PgConn().PID())
	case commit != "on" && commit != "remote_apply":
		return unfitf("synchronous_commit is %s although it was set to on; what swallows session settings?", commit)
	}
	return nil
}
