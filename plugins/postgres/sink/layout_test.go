//go:build services

package sink

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// layoutTwo is what the tables of layout 2 were, in a schema %[1]s.
const layoutTwo = `
create schema %[1]s;
create table %[1]s.layout (version integer not null);
create table %[1]s.targets (target text primary key, table_oid oid not null, file bigint not null);
create table %[1]s.streams (id uuid primary key default gen_random_uuid(), target text not null, cluster text not null, topic text not null, incarnation text not null,
	partition integer not null, epoch bigint not null default 0 check (epoch >= 0), token uuid not null default '00000000-0000-0000-0000-000000000000', owner text not null default '',
	unique (target, cluster, topic, incarnation, partition)) with (fillfactor = 50);
create table %[1]s.coverage (stream uuid not null, lane text not null, reason text not null, from_position bigint not null check (from_position >= 0),
	next_position bigint not null check (next_position > from_position and next_position <= 281474976710656), crc integer not null, primary key (stream, lane, reason, from_position)) with (fillfactor = 50);
create table %[1]s.cursors (stream uuid not null, position bigint not null, token bytea not null, crc integer not null, primary key (stream, position));
create unlogged table %[1]s.backends (pid integer not null, started timestamptz not null, session uuid not null, stream uuid not null, primary key (stream, pid, started));
insert into %[1]s.layout values (2);
`

// asLayoutTwo turns a store back into what an older program has left, with a
// stream that holds [0,10), and returns the stream's epoch.
func (r *rig) asLayoutTwo() sdk.Epoch {
	s := r.sink()
	e := r.acquire(s, "old", streamA)[0]
	r.open(s).deliver(span(r.t, e, 0, 10))
	r.exec(fmt.Sprintf(layoutTwo, "old"))
	for table, columns := range map[string]string{"targets": "*", "streams": "id, target, cluster, topic, incarnation, partition, epoch, token, owner", "coverage": "*", "cursors": "*"} {
		r.exec("insert into old." + table + " select " + columns + " from _twg." + table)
	}
	r.exec("drop schema _twg cascade", "alter schema old rename to _twg")
	return e
}

// The tables of layout 2 are brought up to date where they are, by whoever
// comes first, and what they say stays.
func TestUpgradeOfLayoutTwo(t *testing.T) {
	r := newRig(t, shared)
	e := r.asLayoutTwo()
	var wg sync.WaitGroup
	sinks := make([]*Sink, 4)
	for k := range sinks {
		sinks[k] = r.sink()
		wg.Go(func() {
			if _, err := sinks[k].Streams(t.Context()); err != nil {
				t.Errorf("host %d: %v", k, err)
			}
		})
	}
	wg.Wait()
	s := sinks[0]
	r.open(s).deliver(span(t, e, 5, 20)) // under its old epoch
	if r.rows() != 20 || r.held(s, streamA) != held(0, 20) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
	if got := r.replay(s, streamA, 0, 50); got.read != "[0,20)" {
		t.Errorf("replay read %s", got.read)
	}
	if got := r.prune(s, false, sdk.Prune{Below: 5}); got != "floor 5 rows 5" {
		t.Error(got)
	}
	if n := r.number("select sum(version) from _twg.layout"); n != 3 {
		t.Errorf("layout %d", n)
	}
	r.exec("update _twg.layout set version = 1")
	if _, err := r.sink().Streams(t.Context()); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "layout 1") {
		t.Errorf("a layout without checksums: %v", err)
	}
	r.exec("update _twg.layout set version = 4")
	if _, err := r.sink().Streams(t.Context()); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "layout 4") {
		t.Errorf("a later layout: %v", err)
	}
}

// A role that may not change the tables says so, and can work once they were
// changed for it.
func TestUpgradeWithoutTheRight(t *testing.T) {
	r := newRig(t, shared)
	e := r.asLayoutTwo()
	role := fmt.Sprintf("plain%d", databases.Add(1))
	r.exec("create role "+role+" login", "grant usage on schema _twg to "+role, "grant select, insert, update, delete on all tables in schema _twg to "+role,
		"grant select, insert, update, delete on raw to "+role, "grant pg_signal_backend to "+role, "grant pg_read_all_stats to "+role)
	plain := *r
	plain.dsn = strings.Replace(r.dsn, "//twg@", "//"+role+"@", 1)
	plain.set = `,"create_table":false`
	s := plain.sink()
	_, err := s.Streams(t.Context())
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "layout 2") || !strings.Contains(err.Error(), "Layouts") {
		t.Fatalf("%v, want an error that says what to do", err)
	}
	if _, err := r.sink().Streams(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.exec("grant select, insert, update, delete on _twg.floors, _twg.windows to " + role)
	e = plain.acquire(s, "plain", streamA)[0]
	ses := plain.open(s)
	ses.deliver(span(t, e, 10, 20))
	r.fatal(s.Record(t.Context(), lake, []sdk.CoverageRecord{{Stream: streamA, LiveFloor: 20}}))
	if got := plain.plan(s, window(0, 10)); got != "1:[0,10)open " {
		t.Error(got)
	}
	if w := plain.claim(s, "one"); w == nil {
		t.Error("nothing to claim")
	}
	if got := plain.prune(s, false, sdk.Prune{Below: 5}); got != "floor 5 rows 5" {
		t.Error(got)
	}
}
