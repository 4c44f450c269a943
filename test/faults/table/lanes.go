package table

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/faults/verify"
)

// claimsSQL keeps who claimed a window last and under which fence, and notes
// each change of a claimed window by anybody else: a renewal or a completion
// under a fence that is over (INV6).
const claimsSQL = `
create schema if not exists faults;
create table if not exists faults.claims (window_id bigint primary key, host text not null, fence bigint not null);
create table if not exists faults.ended (window_id bigint, host text, fence bigint, at timestamptz default clock_timestamp());
create table if not exists faults.unfenced (window_id bigint, host text, owner text, fence bigint, what text, at timestamptz default clock_timestamp());
create or replace function faults.note_window() returns trigger language plpgsql as $$
declare me text := current_setting('application_name'); owner text;
begin
	if me = '' then return null; end if; -- the harness
	if tg_op = 'UPDATE' and new.state = 'claimed' and new.fence <> old.fence then
		if new.fence < old.fence then
			insert into faults.unfenced (window_id, host, owner, fence, what) values (old.id, me, '', old.fence, 'set the fence back of');
		end if;
		insert into faults.claims values (new.id, me, new.fence) on conflict (window_id) do update set host = excluded.host, fence = excluded.fence;
		return null;
	end if;
	if old.state <> 'claimed' then return null; end if;
	select c.host into owner from faults.claims c where c.window_id = old.id and c.fence = old.fence;
	if owner is not null and owner <> me then
		insert into faults.unfenced (window_id, host, owner, fence, what) values (old.id, me, owner, old.fence,
			case when tg_op = 'UPDATE' and new.state = 'claimed' then 'renewed' else 'completed' end);
	end if;
	if tg_op = 'DELETE' or new.state <> 'claimed' then
		insert into faults.ended (window_id, host, fence) values (old.id, me, old.fence);
	end if;
	return null;
end $$;
create or replace trigger faults_window after update or delete on _twg.windows for each row execute function faults.note_window();
`

// WatchWindows begins to note who claims and ends windows, once the product's
// tables are there; ready says whether they were.
func (r *Reader) WatchWindows(ctx context.Context) (ready bool, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		err := c.QueryRow(ctx, "select to_regclass('_twg.windows') is not null and to_regclass($1) is not null and to_regclass($2) is not null", Raw, Copy).Scan(&ready)
		if err != nil || !ready {
			return err
		}
		_, err = c.Exec(ctx, claimsSQL)
		return err
	})
	return ready && err == nil, err
}

// Unfenced lists the changes of claimed windows by others than who held them,
// and the completions beyond the first under one fence.
func (r *Reader) Unfenced(ctx context.Context) (out []string, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select format('%s %s window %s, which %s held under fence %s', u.host, u.what, u.window_id, u.owner, u.fence) from faults.unfenced u
			union all select format('window %s ended %s times under fence %s', e.window_id, count(*), e.fence) from faults.ended e group by e.window_id, e.fence having count(*) > 1 limit 1000`)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return out, err
}

// Claimed lists the windows that a host holds, by the application_name of its
// connections.
func (r *Reader) Claimed(ctx context.Context, name string) (out []int64, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, "select w.id from _twg.windows w join faults.claims c on c.window_id = w.id and c.fence = w.fence where c.host = $1 and w.state = 'claimed'", name)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowTo[int64])
		}
		return err
	})
	return out, err
}

// Ended counts the completions of windows, and those that are not complete.
func (r *Reader) Ended(ctx context.Context) (ended, left int, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, "select (select count(*) from faults.ended), (select count(*) from _twg.windows)").Scan(&ended, &left)
	})
	return ended, left, err
}

// Backlog counts the rows of raw that lanes do not cover, and the windows that
// are not complete.
func (r *Reader) Backlog(ctx context.Context, lanes ...string) (missing, windows int, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		return c.QueryRow(ctx, `select (select count(*) from unnest($1::text[]) l (lane), `+Raw+` r join _twg.streams s on s."partition" = r."partition" and s.target = $2
			where not exists (select from _twg.coverage c where c.stream = s.id and c.lane = l.lane and c.from_position <= r."position" and c.next_position > r."position")),
			(select count(*) from _twg.windows)`, lanes, Raw).Scan(&missing, &windows)
	})
	return missing, windows, err
}

// ShiftClock makes leases look as if the server's clock had been put forward by
// a number of seconds, or back: to the product only the difference between the
// two is there.
func (r *Reader) ShiftClock(ctx context.Context, seconds int) (leases int64, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		tag, err := c.Exec(ctx, "update _twg.windows set lease_until = lease_until - $1 * interval '1 second' where state = 'claimed'", seconds)
		leases = tag.RowsAffected()
		return err
	})
	return leases, err
}

// LaneState is what the store says of the secondaries in one snapshot.
type LaneState struct {
	// Held is each lane's coverage.
	Held map[string][]verify.Span
	// Wrong are rules that the snapshot breaks, in words.
	Wrong []string
	// Missing are records of the table of raw that lane copy's coverage claims
	// and its table does not hold.
	Missing []verify.Place
}

// laneRules are queries each of whose rows is a rule that is broken: windows
// overlap, or reach over the live floor; a live floor is above raw's first hole.
var laneRules = []string{
	`select format('windows [%s,%s) and [%s,%s) of partition %s, lane %s, overlap', a.from_position, a.next_position, b.from_position, b.next_position, s."partition", a.lane)
		from _twg.windows a join _twg.windows b on a.stream = b.stream and a.lane = b.lane and a.id < b.id and a.from_position < b.next_position and b.from_position < a.next_position
		join _twg.streams s on s.id = a.stream`,
	`select format('window [%s,%s) of partition %s, lane %s, lies above the live floor %s', w.from_position, w.next_position, s."partition", w.lane, coalesce(f.live_floor, 0))
		from _twg.windows w join _twg.streams s on s.id = w.stream left join _twg.floors f on f.stream = w.stream and f.lane = w.lane
		where w.next_position > coalesce(f.live_floor, 0)`,
	`with raw as (select stream, from_position, next_position from _twg.coverage where lane = 'raw'),
		hole as (select f.stream, (select min(g.at) from (select 0 as at union all select r.next_position from raw r where r.stream = f.stream) g
			where not exists (select from raw r where r.stream = f.stream and r.from_position <= g.at and r.next_position > g.at)) as at
			from (select distinct stream from _twg.floors) f)
		select format('the live floor of partition %s, lane %s, is %s, and raw has its first hole at %s', s."partition", f.lane, f.live_floor, h.at)
		from _twg.floors f join hole h on h.stream = f.stream join _twg.streams s on s.id = f.stream where f.live_floor > h.at`,
}

// Lanes reads, in one snapshot, what the store says of the secondaries, and
// looks for the rows that lane copy claims beyond what known says was looked
// for already.
func (r *Reader) Lanes(ctx context.Context, lane string, known []verify.Span) (out LaneState, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		return pgx.BeginTxFunc(ctx, c, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			if err := out.read(ctx, tx); err != nil {
				return fmt.Errorf("read the secondaries' state: %w", err)
			}
			out.Missing, err = missing(ctx, tx, verify.Beyond(out.Held[lane], known))
			return err
		})
	})
	return out, err
}

func (l *LaneState) read(ctx context.Context, tx pgx.Tx) error {
	l.Held = map[string][]verify.Span{}
	rows, err := tx.Query(ctx, `select c.lane, s."partition", c.from_position, c.next_position from _twg.coverage c join _twg.streams s on s.id = c.stream
		where s.target = $1 and c.lane <> 'raw' and c.reason = ''`, Raw)
	if err != nil {
		return err
	}
	var lane string
	s := verify.Span{File: "coverage"}
	_, err = pgx.ForEachRow(rows, []any{&lane, &s.Partition, &s.From, &s.Next}, func() error {
		l.Held[lane] = append(l.Held[lane], s)
		return nil
	})
	for _, rule := range laneRules {
		if err != nil {
			return err
		}
		var wrong []string
		if rows, err = tx.Query(ctx, rule); err == nil {
			wrong, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		l.Wrong = append(l.Wrong, wrong...)
	}
	return err
}

func missing(ctx context.Context, tx pgx.Tx, spans []verify.Span) (out []verify.Place, err error) {
	for _, s := range spans {
		rows, err := tx.Query(ctx, `select r."partition", r."position" from `+Raw+` r where r."partition" = $1 and r."position" >= $2 and r."position" < $3
			and not exists (select from `+Copy+` c where c."_twg_record_id" = r."_twg_record_id") limit 1000`, s.Partition, s.From, s.Next)
		if err != nil {
			return nil, err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[verify.Place])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Waits says who waits for whom, in words: what a stall may come from.
func (r *Reader) Waits(ctx context.Context) (out []string, err error) {
	err = r.with(ctx, func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, `select format('%s (backend %s, %s) waits for %s (backend %s, %s for %s s): %s | %s', a.application_name, a.pid, a.state, b.application_name, b.pid, b.state,
			round(extract(epoch from clock_timestamp() - b.state_change)), left(a.query, 120), left(b.query, 120))
			from pg_stat_activity a, unnest(pg_blocking_pids(a.pid)) p (pid) join pg_stat_activity b on b.pid = p.pid`)
		if err == nil {
			out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		return err
	})
	return out, err
}
