//go:build services

package main

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/twg-io/twg/test/faults/table"
	"github.com/twg-io/twg/test/faults/verify"
)

// What somebody relies on while the database is away is judged when it is back,
// by what it held at that moment.
func TestLookoutJudgesWhatCameWhileTheDatabaseWasAway(t *testing.T) {
	ctx := t.Context()
	db, err := startDatabase(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	exec := func(sql string) {
		t.Helper()
		c, err := pgx.Connect(ctx, db.DSN(""))
		if err == nil {
			_, err = c.Exec(ctx, sql)
		}
		if err == nil {
			err = c.Close(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	exec(`create table ` + table.Raw + ` ("partition" integer, "position" bigint)`)
	exec(`insert into ` + table.Raw + ` values (0, 0), (0, 1)`)
	var heard []verify.Moment
	l := newLookout(db.DSN(""), func(m verify.Moment) { heard = append(heard, m) })
	defer l.close()
	l.relied(ctx, whyCommit, 0, 1)
	if err := db.down(ctx, "immediate"); err != nil {
		t.Fatal(err)
	}
	l.relied(ctx, whyCommit, 0, 3)
	if left := l.settle(ctx); left != 1 || len(heard) != 1 {
		t.Fatalf("%d are owed, %d heard of, while the database is away", left, len(heard))
	}
	if err := db.up(ctx); err != nil {
		t.Fatal(err)
	}
	exec(`insert into ` + table.Raw + ` values (0, 2)`)
	l.relied(ctx, whyStart, 0, 2) // known already
	if left := l.settle(ctx); left != 0 || len(heard) != 2 {
		t.Fatalf("%d are owed, %d heard of, with the database back", left, len(heard))
	}
	led := verify.LedTable(heard, []verify.Place{{Position: 0}, {Position: 1}, {Position: 2}})
	if led.Count != 1 {
		t.Errorf("%d led %v, want position 2, which came later", led.Count, led.First)
	}
}
