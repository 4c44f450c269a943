package table

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ownersSQL keeps, in a schema of the harness's, who has acquired a stream last,
// by the application_name of the connection, and notes each transaction that
// changes a stream's coverage and commits as somebody else. The check is
// deferred: it runs within COMMIT, when the product's own checks are over. The
// primary key would hide such a writer, who writes the same rows.
const ownersSQL = `
create schema if not exists faults;
create table if not exists faults.acquired (stream uuid primary key, host text not null, epoch bigint not null);
create table if not exists faults.stale (stream uuid, host text, owner text, epoch bigint, at timestamptz default clock_timestamp());
create or replace function faults.note_owner() returns trigger language plpgsql as $$
begin
	insert into faults.acquired values (new.id, current_setting('application_name'), new.epoch)
		on conflict (stream) do update set host = excluded.host, epoch = excluded.epoch;
	return null;
end $$;
create or replace function faults.check_owner() returns trigger language plpgsql as $$
declare s uuid;
begin
	if coalesce(new.lane, old.lane) <> 'raw' then return null; end if; -- a secondary's is true whoever says it
	if tg_op = 'DELETE' then s := old.stream; else s := new.stream; end if;
	insert into faults.stale (stream, host, owner, epoch) select a.stream, current_setting('application_name'), a.host, a.epoch
		from faults.acquired a where a.stream = s and a.host <> current_setting('application_name');
	return null;
end $$;
create or replace trigger faults_owner after update of epoch on _twg.streams for each row execute function faults.note_owner();
drop trigger if exists faults_owner on _twg.coverage;
create constraint trigger faults_owner after insert or update or delete on _twg.coverage deferrable initially deferred for each row execute function faults.check_owner();
`

// WatchOwners begins to note writers that are not the owner, once the
// product's tables are there; ready says whether they were.
func (r *Reader) WatchOwners(ctx context.Context) (ready bool, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		err := c.QueryRow(ctx, "select to_regclass('_twg.backends') is not null").Scan(&ready)
		if err != nil || !ready {
			return err
		}
		_, err = c.Exec(ctx, ownersSQL)
		return err
	})
	return ready && err == nil, err
}

// Acquired lists the partitions that connections of an application_name have
// acquired last.
func (r *Reader) Acquired(ctx context.Context, name string) (out []int32, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select s."partition" from faults.acquired a join _twg.streams s on s.id = a.stream where a.host = $1`, name)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowTo[int32])
		}
		return err
	})
	return out, err
}

// Transactions counts those that are open, of connections with an
// application_name, and those of them that are in a COPY and have written rows.
// Those that wait for their client are not open: the server ends them soon. A
// secondary's do not count: nobody gates by it.
func (r *Reader) Transactions(ctx context.Context, name string) (open, copying int, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `select count(xact_start) filter (where state not like 'idle in transaction%'), count(backend_xid) filter (where query like '%copy %from stdin%')
			from pg_stat_activity where application_name = $1 and query not like '%' || $2 || '%'`, name, copyTable).Scan(&open, &copying)
	})
	return open, copying, err
}

// Stale lists the transactions of writers that were not the owner.
func (r *Reader) Stale(ctx context.Context) (out []string, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select coalesce(s."partition", -1), t.host, t.owner, t.epoch from faults.stale t left join _twg.streams s on s.id = t.stream order by t.at limit 1000`)
		if err != nil {
			return fmt.Errorf("read who wrote without being the owner: %w", err)
		}
		var partition int32
		var host, owner string
		var epoch int64
		_, err = pgx.ForEachRow(rows, []any{&partition, &host, &owner, &epoch}, func() error {
			out = append(out, fmt.Sprintf("partition %d: %s committed a change after %s had acquired epoch %d", partition, host, owner, epoch))
			return nil
		})
		return err
	})
	return out, err
}
