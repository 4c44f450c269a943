//go:build services

package sink

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
	"github.com/twg-io/twg/sdk/frame"
)

func TestOverlapIsDroppedByPosition(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 10), span(t, e, 20, 30))
	ses.deliver(span(t, e, 5, 25)) // straddles both
	ses.deliver(span(t, e, 0, 30)) // all there
	if r.rows() != 30 || r.held(s, streamA) != held(0, 30) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
	if n := r.number("select count(*) from _twg.coverage"); n != 1 {
		t.Errorf("%d coverage rows, want 1: they are joined", n)
	}
}

func TestQueuedBatchesAreOneTransaction(t *testing.T) {
	r := newRig(t, shared)
	r.set = `,"linger":"10s","max_tx_rows":100`
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	for p := int64(0); p < 100; p += 10 {
		ses.send(span(t, e, p, p+10))
	}
	ses.answer(10, 1) // at the hundredth row, and not after ten seconds
	if n := r.number("select count(distinct xmin::text) from raw"); n != 1 {
		t.Errorf("the rows are of %d transactions, want 1", n)
	}
}

func TestTheRowsThemselves(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	recs := []frame.Record{
		{Position: 0}, {Position: 1, Key: []byte{}, Value: []byte{}, TimestampMS: -1},
		{Position: 2, Key: []byte{0, 255}, Value: []byte("\x00\xff\\"), Headers: []frame.Header{{Name: "a", Value: []byte{0, 255}}, {Name: "a", Value: nil}, {Name: "\xff\x00", Value: []byte{}}}},
	}
	r.open(s).deliver(batchOf(t, piece{streamA, e, 0, 3, recs}))
	conn := r.connect()
	rows, err := conn.Query(t.Context(), `select cluster || topic || incarnation || partition || position || timestamp_ms, key, value,
		headers[1][1], headers[1][2], headers[2][1], headers[2][2], headers[3][1], headers[3][2], headers is null, left(_twg_record_id::text, 0) from raw order by position`)
	r.fatal(err)
	got, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
		var b [8][]byte
		var text, none string
		var noHeaders bool
		err := row.Scan(&text, &b[0], &b[1], &b[2], &b[3], &b[4], &b[5], &b[6], &b[7], &noHeaders, &none)
		return fmt.Sprintf("%s %#v %v", text, b, noHeaders), err
	})
	r.fatal(err)
	null := "[]uint8(nil)"
	empty := "[]uint8{}"
	none := strings.Repeat(", "+null, 6)
	for i, want := range []string{
		"c1ordersi1000 [8][]uint8{" + null + ", " + null + none + "} true",
		"c1ordersi101-1 [8][]uint8{" + empty + ", " + empty + none + "} true",
		"c1ordersi1020 [8][]uint8{[]uint8{0x0, 0xff}, []uint8{0x0, 0xff, 0x5c}, []uint8{0x61}, []uint8{0x0, 0xff}, []uint8{0x61}, " + null + ", []uint8{0xff, 0x0}, " + empty + "} false",
	} {
		if got[i] != want {
			t.Errorf("row %d is\n%s, want\n%s", i, got[i], want)
		}
	}
}

func TestNamesThatAreNoText(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	bad := sdk.Stream{Topic: "a\x00b"}
	_, err := s.Acquire(context.Background(), "one", []sdk.Stream{bad})
	if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), `topic "a\x00b" has a zero byte`) {
		t.Errorf("acquire: %v", err)
	}
	ses := r.open(s)
	ses.send(batchOf(t, piece{stream: sdk.Stream{Topic: "\xff"}, next: 1}))
	if err := ses.failure(); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), `topic "\xff" is not UTF-8`) {
		t.Errorf("write: %v", err)
	}
}

func TestRefusedTables(t *testing.T) {
	columns := `_twg_record_id uuid%s, cluster text, topic text, incarnation text, partition integer, position bigint, timestamp_ms bigint, key bytea, value bytea, headers bytea[]`
	for name, c := range map[string]struct{ ddl, set, want string }{
		"unlogged":           {"create unlogged table raw (" + fmt.Sprintf(columns, " primary key") + ")", "", "raw is unlogged"},
		"unlogged partition": {"create table raw (" + fmt.Sprintf(columns, " primary key") + ") partition by range (_twg_record_id); create unlogged table raw1 partition of raw default", "", "raw1 is unlogged"},
		"no key":             {"create table raw (" + fmt.Sprintf(columns, "") + ")", "", "no primary key"},
		"deferrable key":     {"create table raw (" + fmt.Sprintf(columns, " primary key deferrable") + ")", "", "no primary key"},
		"key of more":        {"create table raw (" + fmt.Sprintf(columns, "") + ", primary key (_twg_record_id, topic))", "", "no primary key"},
		"wrong type":         {"create table raw (" + strings.Replace(fmt.Sprintf(columns, " primary key"), "value bytea", "value jsonb", 1) + ")", "", `column "value" is jsonb, not bytea`},
		"missing column":     {"create table raw (_twg_record_id uuid primary key)", "", `column "headers" bytea[] is missing`},
		"column of theirs":   {"create table raw (" + fmt.Sprintf(columns, " primary key") + ", note text not null)", "", `column "note" is not null`},
		"a view":             {"create view raw as select 1", "", "not a table"},
		"none":               {"select 1", `,"create_table":false`, "there is none"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shared)
			r.exec(c.ddl)
			r.set = c.set
			_, err := r.tryOpen(r.sink())
			if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a fatal error with %q", err, c.want)
			}
		})
	}
}

func TestUnloggedStoreIsRefused(t *testing.T) {
	r := newRig(t, shared)
	r.acquire(r.sink(), "one", streamA)
	r.exec("alter table _twg.coverage set unlogged")
	if _, err := r.tryOpen(r.sink()); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "unlogged") {
		t.Errorf("%v, want it refused", err)
	}
}

func TestTablesAndColumnsOfTheirsAreFine(t *testing.T) {
	r := newRig(t, shared)
	r.exec(`create schema "Odd name"`, `create table "Odd name"."raw-1" (headers bytea[], note text, at timestamptz not null default now(), value bytea, key bytea, timestamp_ms bigint,
		position bigint, partition integer, incarnation text, topic text, cluster text, _twg_record_id uuid unique)`)
	s := New()
	if _, diags := s.Configure(sdk.NewSettings(fmt.Appendf(nil, `{"dsn":%q,"table":"Odd name.raw-1","store_schema":"My Store"}`, r.dsn))); diags.HasErrors() {
		t.Fatal(diags)
	}
	ses := r.open(s)
	e := r.acquire(s, "one", streamA)[0]
	ses.deliver(span(t, e, 0, 10))
	if n := r.number(`select count(*) from "Odd name"."raw-1" where at is not null and note is null and key is not null`); n != 10 {
		t.Errorf("%d rows", n)
	}
	if n := r.number(`select count(*) from "My Store".coverage`); n != 1 {
		t.Errorf("%d coverage rows", n)
	}
}

// A row that the table will never take is answered by name, the others are
// written, and its position is not held.
func TestRefusedRows(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	first := r.open(s)
	first.deliver(span(t, e, 0, 5))
	r.exec(`alter table raw add constraint no_sevens check (convert_from(value, 'UTF8') !~ '7')`,
		// a trigger that fails only at the commit
		`create function nineties() returns trigger language plpgsql as $$ begin if new.position between 90 and 91 then raise exception 'no nineties'; end if; return new; end $$`,
		`create constraint trigger t after insert on raw deferrable initially deferred for each row execute function nineties()`)
	ses := r.open(s)
	seq := ses.send(batchOf(t, piece{stream: streamA, epoch: e, from: 0, next: 100}, piece{stream: streamB, from: 0, next: 6}))
	out := ses.answer(seq, 2)
	if kinds(out) != "rejected durable" {
		t.Fatalf("outcomes %s: %+v", kinds(out), out)
	}
	var refused []int64
	for _, x := range out[0].Rejected {
		refused = append(refused, x.Position)
	}
	want := "[7 17 27 37 47 57 67 70 71 72 73 74 75 76 77 78 79 87 90 91 97]"
	if fmt.Sprint(refused) != want || !strings.Contains(out[0].Reason, "no_sevens") {
		t.Errorf("refused %v (%s), want %s", refused, out[0].Reason, want)
	}
	if r.rows() != 100-21+6 {
		t.Errorf("%d rows", r.rows())
	}
	set, err := s.Coverage(context.Background(), sdk.LaneRaw, []sdk.Stream{streamA})
	r.fatal(err)
	if set[0].Set.FirstHole() != 7 || len(set[0].Set.HeldWithin(coverage.Interval{From: 70, Next: 80})) != 0 || !set[0].Set.Covers(coverage.Interval{From: 80, Next: 87}) {
		t.Errorf("held %v", set[0].Set.Held())
	}
	r.exec("alter table raw drop constraint no_sevens")
	seq = ses.send(span(t, e, 0, 100)) // what was refused comes again
	if out := ses.answer(seq, 1); len(out[0].Rejected) != 2 || r.rows() != 98+6 {
		t.Errorf("%+v, %d rows", out, r.rows())
	}
}

// When an id is found to exist, it must be this record's.
func TestAnIDThatIsAnotherRecordsHalts(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 5))
	b := span(t, e, 5, 10)
	copy(b.IDs[16:32], ses.idOf(t, r, 3)) // position 6 has the id of position 3
	ses.send(b)
	if err := ses.failure(); sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), "c1/orders/i1/0 at 3 in the table and of c1/orders/i1/0 at 6 here") {
		t.Errorf("%v", err)
	}
	if r.rows() != 5 {
		t.Errorf("%d rows", r.rows())
	}
}

func (s *session) idOf(t *testing.T, r *rig, position int) []byte {
	var id [16]byte
	r.fatal(r.connect().QueryRow(t.Context(), "select _twg_record_id from raw where position = $1", position).Scan(&id))
	return id[:]
}
