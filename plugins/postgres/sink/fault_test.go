//go:build services

package sink

import (
	"strings"
	"testing"

	"github.com/twg-io/twg/sdk"
)

// A connection is cut between COPY and COMMIT, or between COMMIT and its
// answer: the session fails, and what is sent again is there once.
func TestCutConnections(t *testing.T) {
	for _, c := range []struct {
		at   string
		rows int64 // that are there after the cut
	}{{"COPY", 10}, {"COMMIT", 20}} {
		t.Run(c.at, func(t *testing.T) {
			r := newRig(t, shared)
			p := newProxy(t, shared.Addr())
			direct := *r
			r.dsn = p.dsn(r.dsn)
			s := r.sink()
			e := r.acquire(s, "one", streamA)[0]
			ses := r.open(s)
			ses.deliver(span(t, e, 0, 10))
			p.set(func() { p.cutAt = c.at })
			ses.send(span(t, e, 10, 20))
			if err := ses.failure(); sdk.KindOf(err) != sdk.KindRetryable {
				t.Errorf("%v", err)
			}
			var cuts int
			p.set(func() { cuts = p.cuts })
			if out := ses.said(2); cuts != 1 || len(out) != 0 {
				t.Errorf("%d cuts, outcomes %v", cuts, out)
			}
			eventually(t, "the cut transaction has ended", func() bool { return direct.rows() == c.rows })
			ses = r.open(s)
			ses.deliver(span(t, e, 10, 20), span(t, e, 20, 30))
			if direct.rows() != 30 || r.held(s, streamA) != held(0, 30) {
				t.Errorf("%d rows, held %s", direct.rows(), r.held(s, streamA))
			}
		})
	}
}

// A host that stands still in a COPY holds keys; its successor's rows would
// wait for them. Acquire ends it.
func TestAZombieInMidCopyDoesNotHoldItsSuccessorUp(t *testing.T) {
	r := newRig(t, shared)
	p := newProxy(t, shared.Addr())
	zr := *r
	zr.dsn = p.dsn(r.dsn)
	zombie := zr.sink()
	e := zr.acquire(zombie, "zombie", streamA)[0]
	zs := zr.open(zombie)
	zs.deliver(span(t, e, 0, 10))
	p.set(func() { p.freezeAfter = 300_000 })
	zs.send(span(t, e, 10, 20_000))
	eventually(t, "the zombie holds keys", func() bool {
		return r.number("select coalesce(max(tuples_processed), 0) from pg_stat_progress_copy where datname = current_database()") > 1000
	})
	s := r.sink()
	e2 := r.acquire(s, "successor", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e2, 10, 20_000))
	if r.rows() != 20_000 || r.held(s, streamA) != held(0, 20_000) {
		t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
	}
	zs.abort()
	p.set(func() { p.freezeAfter = 0 })
	zs = zr.open(zombie) // it wakes, and still believes in its epoch
	out := zs.answer(zs.send(span(t, e, 20_000, 20_010)), 1)
	if out[0].Kind != sdk.Fenced || !strings.Contains(out[0].Reason, `acquired by "successor" (epoch 2); the write has epoch 1`) || r.rows() != 20_000 {
		t.Errorf("%+v, %d rows", out, r.rows())
	}
	ses.deliver(span(t, e2, 20_000, 20_010)) // and has not ended its successor
}

// The connections of a dead session, which has the same epoch, are ended
// before its work is sent again.
func TestADeadSessionDoesNotHoldTheNextUp(t *testing.T) {
	r := newRig(t, shared)
	p := newProxy(t, shared.Addr())
	zr := *r
	zr.dsn = p.dsn(r.dsn)
	dead := zr.sink()
	e := zr.acquire(dead, "one", streamA)[0]
	zs := zr.open(dead)
	zs.deliver(span(t, e, 0, 10))
	p.set(func() { p.freezeAfter = 300_000 })
	zs.send(span(t, e, 10, 20_000))
	eventually(t, "it holds keys", func() bool {
		return r.number("select coalesce(max(tuples_processed), 0) from pg_stat_progress_copy where datname = current_database()") > 1000
	})
	s := r.sink()
	ses := r.open(s)
	ses.deliver(span(t, e, 10, 20_000))
	if r.rows() != 20_000 {
		t.Errorf("%d rows", r.rows())
	}
}

// The server restarts, or is killed: sessions fail, and the next ones go on.
func TestServerRestart(t *testing.T) {
	server := ownServer(t)
	r := newRig(t, server)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 10))
	at := int64(10)
	for name, f := range map[string]func() error{
		"restart": func() error { return server.Restart(t.Context()) },
		"kill":    func() error { server.Kill(); return server.Start(t.Context()) },
	} {
		seq := ses.send(span(t, e, at, at+10))
		ses.answer(seq, 1)
		r.fatal(f())
		ses.send(span(t, e, at+10, at+20))
		if err := ses.failure(); sdk.KindOf(err) != sdk.KindRetryable {
			t.Errorf("%s: %v", name, err)
		}
		ses = r.open(s)
		ses.deliver(span(t, e, at, at+20))
		at += 20
		if r.rows() != at {
			t.Errorf("%s: %d rows, want %d", name, r.rows(), at)
		}
	}
	if _, err := s.Coverage(t.Context(), sdk.LaneRaw, nil); err != nil { // its connection was cut, too
		if _, err = s.Coverage(t.Context(), sdk.LaneRaw, nil); err != nil {
			t.Error(err)
		}
	}
}

// After a fail-over a connection can be left at a server that is read-only.
func TestReadOnlyServer(t *testing.T) {
	server := ownServer(t)
	r := newRig(t, server)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	ses := r.open(s)
	ses.deliver(span(t, e, 0, 10))
	r.fatal(server.ReadOnly(t.Context(), true))
	ses.send(span(t, e, 10, 20))
	if err := ses.failure(); sdk.KindOf(err) != sdk.KindRetryable || !strings.Contains(err.Error(), "25006") {
		t.Errorf("%v, want the connection to be given up because of 25006", err)
	}
	if _, err := r.tryOpen(s); sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("opened a session at a read-only server: %v", err)
	}
	r.fatal(server.ReadOnly(t.Context(), false))
	ses = r.open(s)
	ses.deliver(span(t, e, 0, 20))
	r.fatal(server.Demote(t.Context()))
	if _, err := r.tryOpen(s); sdk.KindOf(err) != sdk.KindRetryable {
		t.Errorf("opened a session at a standby: %v", err)
	}
	r.fatal(server.Promote(t.Context()))
	ses = r.open(s)
	ses.deliver(span(t, e, 0, 30))
	if r.rows() != 30 {
		t.Errorf("%d rows", r.rows())
	}
}

// After a restore the store issues a number again. The zombie of the lost
// future has that number and not the token.
func TestARestoredDatabaseFencesTheLostFuture(t *testing.T) {
	server := ownServer(t)
	r := newRig(t, server)
	s := r.sink()
	r.acquire(s, "one", streamA)
	ses := r.open(s)
	r.fatal(server.Stop(t.Context()))
	backup, err := server.Backup(t.Context())
	r.fatal(err)
	r.fatal(server.Start(t.Context()))
	ses.abort()
	_, _ = s.Coverage(t.Context(), sdk.LaneRaw, nil) // finds its connection cut
	e := r.acquire(s, "lost", streamA)[0]
	ses = r.open(s)
	ses.deliver(span(t, e, 0, 10))
	r.fatal(server.Stop(t.Context()))
	r.fatal(server.Restore(t.Context(), backup))
	r.fatal(server.Start(t.Context()))
	ses.abort()

	zombie := r.open(s)
	out := zombie.answer(zombie.send(span(t, e, 10, 20)), 1)
	if out[0].Kind != sdk.Fenced {
		t.Errorf("before the number is issued again: %+v", out)
	}
	s2 := r.sink()
	e2 := r.acquire(s2, "two", streamA)[0]
	if e2.Number != e.Number {
		t.Fatalf("epoch %d was issued, want %d again", e2.Number, e.Number)
	}
	out = zombie.answer(zombie.send(span(t, e, 10, 20)), 1)
	if out[0].Kind != sdk.Fenced || !strings.Contains(out[0].Reason, "restored") {
		t.Errorf("after it was issued again: %+v", out)
	}
	r.open(s2).deliver(span(t, e2, 0, 10))
	if r.rows() != 10 {
		t.Errorf("%d rows", r.rows())
	}
}

// Rows that the host leaves out as held and that are not must not be claimed.
func TestRowsLeftOutThatAreNotHeld(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	es := r.acquire(s, "one", streamA, streamB)
	ses := r.open(s)
	b := batchOf(t, piece{stream: streamA, epoch: es[0], next: 10}, piece{stream: streamB, epoch: es[1], next: 10})
	b.Rows = []sdk.RowRange{{From: 4, To: 20}}
	out := ses.answer(ses.send(b), 2)
	if kinds(out) != "fenced retryable" || !strings.Contains(out[0].Reason, "position 0 was left out") {
		t.Errorf("%+v", out)
	}
	if n := r.number("select count(*) from _twg.coverage"); n != 0 {
		t.Errorf("%d intervals are claimed", n)
	}
}

// A table that was emptied or replaced does not hold what coverage says.
func TestATableThatWasEmptied(t *testing.T) {
	for name, c := range map[string]struct {
		sql  []string
		live bool   // the session goes on
		want string // empty: it goes on
	}{
		"truncated":             {[]string{"truncate raw"}, false, "is empty"},
		"truncated meanwhile":   {[]string{"truncate raw"}, true, "is empty"},
		"dropped":               {[]string{"drop table raw"}, false, "is empty"},
		"another":               {[]string{"create table other (like raw including all)", "insert into other select * from raw where position < 5", "drop table raw", "alter table other rename to raw"}, false, "is another table"},
		"another, but accepted": {[]string{"create table other (like raw including all)", "insert into other select * from raw", "drop table raw", "alter table other rename to raw", "delete from _twg.targets"}, false, ""},
		"rewritten":             {[]string{"vacuum full raw"}, false, ""},
		"rewritten meanwhile":   {[]string{"vacuum full raw"}, true, ""},
		"to be read again":      {[]string{"truncate raw", "delete from _twg.coverage"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, shared)
			s := r.sink()
			e := r.acquire(s, "one", streamA)[0]
			ses := r.open(s)
			ses.deliver(span(t, e, 0, 10))
			r.exec(c.sql...)
			if c.live {
				ses.send(span(t, e, 10, 20))
				if err := ses.failure(); sdk.KindOf(err) != sdk.KindRetryable {
					t.Errorf("the session that was open: %v", err)
				}
			}
			ses, err := r.tryOpen(r.sink())
			if c.want != "" {
				if sdk.KindOf(err) != sdk.KindFatal || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want a fatal error with %q", err, c.want)
				}
				return
			}
			r.fatal(err)
			ses.deliver(span(t, e, 0, 20))
			if r.rows() != 20 || r.held(s, streamA) != held(0, 20) {
				t.Errorf("%d rows, held %s", r.rows(), r.held(s, streamA))
			}
		})
	}
}
