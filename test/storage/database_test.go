//go:build services

package storage

import (
	"strings"
	"testing"
	"time"
)

// A database is restored to an older state, beside a host that runs and beside
// one that does not: the committed position leads, an alarm says so, and all
// that the database has lost is read again, without anybody's help.
func TestDatabaseRestored(t *testing.T) {
	for name, running := range map[string]bool{"while it runs": true, "while it is stopped": false} {
		t.Run(name, func(t *testing.T) {
			db := newDatabase(t)
			p := newTopic(t, fake(t).ListenAddrs(), "orders")
			p.produce("a", 100)
			h := run(t, p, db, nil)
			h.untilCommitted(100)
			must(t, db.Stop(t.Context()))
			backup, err := db.Backup(t.Context())
			must(t, err)
			must(t, db.Start(t.Context()))
			p.produce("b", 100)
			h.untilCommitted(200)
			if !running {
				h.stop()
			}
			must(t, db.Stop(t.Context()))
			must(t, db.Restore(t.Context(), backup))
			must(t, db.Start(t.Context()))
			if !running {
				h = run(t, p, db, nil)
			}
			p.produce("c", 50)
			h.untilCommitted(250)
			h.stop()
			all := append(append(words("a", 100), words("b", 100)...), words("c", 50)...)
			want(t, db, onlyIncarnation(t, db), 0, all...)
			if text := h.log.String(); !strings.Contains(text, "ALARM") || !strings.Contains(text, "is ahead of what the sink holds (100)") {
				t.Errorf("no alarm, or of something else:\n%s", text)
			}
		})
	}
}

func onlyIncarnation(t *testing.T, s store) string {
	t.Helper()
	rows := s.rows(t)
	if len(rows) != 1 {
		t.Errorf("rows of %d incarnations", len(rows))
	}
	for incarnation := range rows {
		return incarnation
	}
	return ""
}

// Case 14: the database is away for a while. What can be seen from outside says
// so, nothing is committed meanwhile, memory is bounded, and when it is back
// everything goes on by itself.
func TestDatabaseAway(t *testing.T) {
	db := newDatabase(t)
	p := newTopic(t, fake(t).ListenAddrs(), "orders")
	p.produce("a", 100)
	h := run(t, p, db, nil)
	h.untilCommitted(100)
	if !h.pipe.Status().SinkOpen {
		t.Error("the sink is not open though it works")
	}
	db.Kill()
	p.produce("b", 20_000)
	h.until("the sink to be seen as closed, twice", func() bool {
		s := h.pipe.Status()
		return !s.SinkOpen && s.SinkRestarts >= 2
	})
	for range 10 {
		if s := h.pipe.Status(); s.InFlight > 128<<20 {
			t.Errorf("%d bytes are held", s.InFlight)
		}
		if at, _ := p.committed(); at != 100 {
			t.Fatalf("committed %d while the database was away", at)
		}
		untilPast(t, time.Now().Add(100*time.Millisecond))
	}
	must(t, db.Start(t.Context()))
	h.untilCommitted(20_100)
	h.until("the sink to be seen as open", func() bool { return h.pipe.Status().SinkOpen })
	h.stop()
	want(t, db, onlyIncarnation(t, db), 0, append(words("a", 100), words("b", 20_000)...)...)
}

// untilPast waits for a moment.
func untilPast(t *testing.T, at time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(at)):
	case <-t.Context().Done():
	}
}

// Case 19: after a fail-over the server that the connection leads to is
// read-only, with the connections cut or not. They are given up, and once there
// is one that can be written to, everything goes on.
func TestDatabaseFailsOver(t *testing.T) {
	db := newDatabase(t)
	p := newTopic(t, fake(t).ListenAddrs(), "orders")
	h := run(t, p, db, nil)
	n := int64(0)
	for _, c := range []struct {
		name     string
		away, on func() error
	}{
		{"read-only", func() error { return db.ReadOnly(t.Context(), true) }, func() error { return db.ReadOnly(t.Context(), false) }},
		{"standby", func() error { return db.Demote(t.Context()) }, func() error { return db.Promote(t.Context()) }},
	} {
		p.produce("x", 50)
		n += 50
		h.untilCommitted(n)
		must(t, c.away())
		before := h.pipe.Status().SinkRestarts
		p.produce("x", 50)
		h.until(c.name+" to be noticed", func() bool { s := h.pipe.Status(); return !s.SinkOpen && s.SinkRestarts > before })
		if at, _ := p.committed(); at != n {
			t.Errorf("%s: committed %d, want %d", c.name, at, n)
		}
		must(t, c.on())
		n += 50
		h.untilCommitted(n)
	}
	h.stop()
	want(t, db, onlyIncarnation(t, db), 0, words("x", int(n))...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(patience); !ok(); {
		select {
		case <-late:
			t.Fatalf("not in time: %s", what)
		case <-tick.C:
		}
	}
}
