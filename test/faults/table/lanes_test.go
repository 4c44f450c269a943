//go:build services

package table

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/faults/verify"
	"github.com/twg-io/twg/test/services/postgres"
)

// lanesSQL are the documented tables of secondaries, as far as they are read
// here: raw holds 0 to 5 and 7 to 9, lane copy all below 4.
const lanesSQL = `
create table ` + Copy + ` (like ` + Raw + ` including all);
create table _twg.floors (stream uuid, lane text, live_floor bigint);
create table _twg.windows (id bigint generated always as identity primary key, target text default '` + Raw + `', lane text default 'copy', stream uuid default '00000000-0000-0000-0000-000000000007',
	from_position bigint, next_position bigint, state text default 'open', fence bigint default 0, lease_version bigint default 0, lease_until timestamptz default now());
insert into ` + Raw + ` select gen_random_uuid(), 'c', 't', 'i', 2, p, 5 from generate_series(0, 9) p where p <> 6;
insert into ` + Copy + ` select * from ` + Raw + ` where "position" < 4;
insert into _twg.coverage values ('00000000-0000-0000-0000-000000000007', 'raw', '', 0, 3), ('00000000-0000-0000-0000-000000000007', 'raw', 'seek', 3, 6),
	('00000000-0000-0000-0000-000000000007', 'raw', '', 7, 10), ('00000000-0000-0000-0000-000000000007', 'copy', '', 0, 4);
insert into _twg.floors values ('00000000-0000-0000-0000-000000000007', 'copy', 6);
insert into _twg.windows (from_position, next_position) values (4, 5), (5, 6);`

func lanes(t *testing.T) (*postgres.Server, *Reader, *pgx.Conn) {
	t.Helper()
	s, r := start(t)
	c := connect(t, s.DSN(""))
	if ready, err := r.WatchWindows(t.Context()); ready || err != nil {
		t.Fatalf("ready without tables: %t, %v", ready, err)
	}
	_, err := c.Exec(t.Context(), tablesSQL+lanesSQL)
	must(t, err)
	for range 2 {
		if ready, err := r.WatchWindows(t.Context()); !ready || err != nil {
			t.Fatalf("ready %t, %v", ready, err)
		}
	}
	return s, r, c
}

// Each rule is found broken, and what is right is not.
func TestLanesFindsWhatIsWrong(t *testing.T) {
	_, r, c := lanes(t)
	cases := []struct {
		name, change, undo string
		missing            int
		wrong              string
	}{
		{name: "all is well"},
		{"covered without a row", "update _twg.coverage set next_position = 6 where lane = 'copy'", "update _twg.coverage set next_position = 4 where lane = 'copy'", 2, ""},
		{"covered where there is no record", "insert into _twg.coverage values ('00000000-0000-0000-0000-000000000007', 'copy', '', 6, 7)", "delete from _twg.coverage where from_position = 6", 0, ""},
		{"a floor above raw's hole", "update _twg.floors set live_floor = 7", "update _twg.floors set live_floor = 6", 0, "raw has its first hole at 6"},
		{"windows overlap", "update _twg.windows set next_position = 6 where from_position = 4", "update _twg.windows set next_position = 5 where from_position = 4", 0, "overlap"},
		{"a window above the floor", "update _twg.windows set next_position = 7 where from_position = 5", "update _twg.windows set next_position = 6 where from_position = 5", 0, "above the live floor 6"},
	}
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			_, err := c.Exec(t.Context(), x.change)
			must(t, err)
			state, err := r.Lanes(t.Context(), "copy", []verify.Span{{Partition: 2, From: 0, Next: 2}})
			must(t, err)
			_, err = c.Exec(t.Context(), x.undo)
			must(t, err)
			wrong := strings.Join(state.Wrong, "; ")
			if len(state.Missing) != x.missing || (x.wrong == "") != (wrong == "") || !strings.Contains(wrong, x.wrong) {
				t.Errorf("missing %v, wrong %q; want %d and %q", state.Missing, wrong, x.missing, x.wrong)
			}
		})
	}
	missing, windows, err := r.Backlog(t.Context(), "copy", "lake")
	if err != nil || missing != 5+9 || windows != 2 {
		t.Errorf("backlog %d rows, %d windows, %v; want 14 and 2", missing, windows, err)
	}
}

// A claim is renewed and completed by who made it: everybody else is found, and
// so is a window that ends twice.
func TestUnfencedChangeIsFound(t *testing.T) {
	s, r, _ := lanes(t)
	a, b := connect(t, s.DSN("")+"&application_name=a"), connect(t, s.DSN("")+"&application_name=b")
	do := func(c *pgx.Conn, sql string) {
		t.Helper()
		_, err := c.Exec(t.Context(), sql+" where id = 1")
		must(t, err)
	}
	found := func(want ...string) {
		t.Helper()
		got, err := r.Unfenced(t.Context())
		if err != nil || len(got) != len(want) {
			t.Fatalf("found %q, %v; want %q", got, err, want)
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				t.Errorf("found %q, want %q", got[i], want[i])
			}
		}
	}
	const (
		claim    = "update _twg.windows set state = 'claimed', fence = fence + 1"
		renew    = "update _twg.windows set lease_version = lease_version + 1"
		complete = "update _twg.windows set state = 'open'"
	)
	do(a, claim)
	do(a, renew)
	do(b, claim)
	if ids, err := r.Claimed(t.Context(), "b"); err != nil || len(ids) != 1 || ids[0] != 1 {
		t.Fatalf("b has %v, %v; want 1", ids, err)
	}
	if n, err := r.ShiftClock(t.Context(), 3600); err != nil || n != 1 {
		t.Fatalf("shifted %d leases, %v", n, err)
	}
	do(b, complete)
	found()
	do(b, claim)
	do(a, renew)
	found("a renewed window 1, which b held")
	do(a, complete)
	found("a renewed window 1, which b held", "a completed window 1, which b held")
	if ended, left, err := r.Ended(t.Context()); err != nil || ended != 2 || left != 2 {
		t.Errorf("%d ended, %d left, %v; want 2 and 2", ended, left, err)
	}
	do(a, "update _twg.windows set state = 'claimed'")
	do(a, complete)
	found("a renewed window 1, which b held", "a completed window 1, which b held", "a completed window 1, which b held", "window 1 ended 2 times under fence 3")
}
