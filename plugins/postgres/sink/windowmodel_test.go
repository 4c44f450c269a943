//go:build services

package sink

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

const (
	modelSize = 24 // positions of the one stream, all held by raw
	modelTTL  = 3  // hours; every lease has half an hour more, so that none ends on the hour
)

// modelWindow is a window of the dumb model.
type modelWindow struct {
	sdk.RecoveryWindow
	until int // the hour in which its lease has expired
}

// windowModel says what a store of windows must do. Time is hours; the real
// store's leases are moved back instead of its clock forward.
type windowModel struct {
	t    *rapid.T
	s    *Sink
	db   *pgx.Conn
	lane string

	hour int
	ids  map[uint64]bool
	ws   []*modelWindow
	lake [modelSize]bool // held by the lane
	past []sdk.RecoveryWindow
}

// TestWindowsAgainstAModel: any sequence of plans, claims, renewals,
// completions, hours that pass and coverage that is recorded.
func TestWindowsAgainstAModel(t *testing.T) {
	r := newRig(t, shared)
	s := r.sink()
	e := r.acquire(s, "one", streamA)[0]
	r.open(s).deliver(batchOf(t, piece{stream: streamA, epoch: e, next: modelSize}))
	db, n := r.connect(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		m := &windowModel{t: t, s: s, db: db, lane: fmt.Sprint("lane", n), ids: map[uint64]bool{0: true}}
		t.Repeat(map[string]func(*rapid.T){
			"plan": m.plan, "claim": m.claim, "watched": m.claimWatched, "renew": m.renew, "complete": m.complete, "time": m.pass, "cover": m.cover, "": m.compare,
		})
	})
}

func (m *windowModel) fatal(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *windowModel) draw(what string) coverage.Interval {
	from := rapid.Int64Range(0, modelSize-1).Draw(m.t, what+" from")
	return within(from, rapid.Int64Range(from+1, modelSize).Draw(m.t, what+" next"))
}

func (m *windowModel) overlaps(i coverage.Interval) bool {
	return slices.ContainsFunc(m.ws, func(w *modelWindow) bool { return w.From < i.Next && i.From < w.Next })
}

func (m *windowModel) plan(*rapid.T) {
	var ws []sdk.RecoveryWindow
	var want string
	var added []*modelWindow
	for range rapid.IntRange(1, 4).Draw(m.t, "windows") {
		i := m.draw("window")
		w := window(i.From, i.Next)
		w.State = rapid.SampledFrom([]sdk.WindowState{sdk.WindowOpen, sdk.WindowOpen, sdk.WindowUnrecoverable}).Draw(m.t, "state")
		ws = append(ws, w)
		if !m.overlaps(i) {
			n := &modelWindow{RecoveryWindow: w}
			m.ws, added = append(m.ws, n), append(added, n)
			want += fmt.Sprintf("[%d,%d)%s ", i.From, i.Next, w.State)
		}
	}
	got, err := m.s.PlanWindows(context.Background(), m.lane, ws)
	m.fatal(err)
	if g := withoutIDs(got); g != want {
		m.t.Fatalf("planned %s, want %s", g, want)
	}
	for i, w := range got {
		m.fresh(w.ID)
		added[i].ID = w.ID
	}
}

func (m *windowModel) fresh(id uint64) {
	if m.ids[id] {
		m.t.Fatalf("id %d is used again", id)
	}
	m.ids[id] = true
}

func withoutIDs(ws []sdk.RecoveryWindow) (out string) {
	for _, w := range ws {
		out += fmt.Sprintf("[%d,%d)%s ", w.From, w.Next, w.State)
	}
	return out
}

func (m *windowModel) ttl() (int, time.Duration) {
	n := rapid.IntRange(0, modelTTL).Draw(m.t, "hours")
	return m.hour + n, time.Duration(n)*time.Hour + 30*time.Minute
}

func (m *windowModel) claim(*rapid.T) {
	var want *modelWindow
	for _, w := range m.ws {
		free := w.State == sdk.WindowOpen || w.State == sdk.WindowClaimed && m.hour > w.until
		if free && (want == nil || w.ID < want.ID) {
			want = w
		}
	}
	until, ttl := m.ttl()
	m.claimed(sdk.WindowClaim{TTL: ttl}, want, until)
}

// claimWatched claims by a version, of now or of the past.
func (m *windowModel) claimWatched(*rapid.T) {
	if len(m.past) == 0 {
		return
	}
	p := rapid.SampledFrom(m.past).Draw(m.t, "watched")
	i := slices.IndexFunc(m.ws, func(w *modelWindow) bool { return w.ID == p.ID && w.LeaseVersion == p.LeaseVersion })
	until, ttl := m.ttl()
	c := sdk.WindowClaim{TTL: ttl, ID: p.ID, LeaseVersion: p.LeaseVersion}
	if i < 0 {
		m.claimed(c, nil, until)
		return
	}
	m.claimed(c, m.ws[i], until)
}

func (m *windowModel) claimed(c sdk.WindowClaim, want *modelWindow, until int) {
	c.Lane, c.Holder = m.lane, rapid.SampledFrom([]string{"one", "two"}).Draw(m.t, "holder")
	got, err := m.s.ClaimWindow(context.Background(), c)
	m.fatal(err)
	if (got == nil) != (want == nil) || got != nil && (got.ID != want.ID || got.Fence != want.Fence+1 || got.LeaseVersion != want.LeaseVersion+1 || got.Lease != c.TTL) {
		m.t.Fatalf("claimed %+v, want %+v", got, want)
	}
	if want != nil {
		want.State, want.Holder, want.until = sdk.WindowClaimed, c.Holder, until
		want.Fence, want.LeaseVersion = want.Fence+1, want.LeaseVersion+1
		m.past = append(m.past, want.RecoveryWindow)
	}
}

// leased draws a claim that was made, and its window if that is still claimed
// by it.
func (m *windowModel) leased() (c sdk.RecoveryWindow, w *modelWindow) {
	c = rapid.SampledFrom(m.past).Draw(m.t, "claim")
	for _, x := range m.ws {
		if x.ID == c.ID && x.Fence == c.Fence && x.State == sdk.WindowClaimed {
			return c, x
		}
	}
	return c, nil
}

func (m *windowModel) renew(*rapid.T) {
	if len(m.past) == 0 {
		return
	}
	c, w := m.leased()
	until, ttl := m.ttl()
	v, err := m.s.RenewWindow(context.Background(), c.ID, c.Fence, ttl)
	if w == nil {
		m.wantKind(err, sdk.KindFenced)
		return
	}
	m.fatal(err)
	w.LeaseVersion, w.until = w.LeaseVersion+1, until
	m.past = append(m.past, w.RecoveryWindow)
	if v != w.LeaseVersion {
		m.t.Fatalf("version %d, want %d", v, w.LeaseVersion)
	}
}

func (m *windowModel) wantKind(err error, k sdk.Kind) {
	if sdk.KindOf(err) != k {
		m.t.Fatalf("%v, want an error of kind %s", err, k)
	}
}

func (m *windowModel) complete(*rapid.T) {
	if len(m.past) == 0 {
		return
	}
	c, w := m.leased()
	done := sdk.WindowCompletion{ID: c.ID, Fence: c.Fence}
	for range rapid.IntRange(0, 2).Draw(m.t, "done") {
		done.Done = append(done.Done, m.draw("done"))
	}
	if rapid.Bool().Draw(m.t, "lost") {
		done.Unrecoverable = append(done.Unrecoverable, m.draw("lost"))
	}
	err := m.s.CompleteWindow(context.Background(), done)
	switch {
	case w == nil:
		m.wantKind(err, sdk.KindFenced)
	case m.claimsTooMuch(w, done):
		m.wantKind(err, sdk.KindRejected)
	default:
		m.fatal(err)
		m.completed(w, done)
	}
}

// claimsTooMuch: what is said to be done is not all in the lane.
func (m *windowModel) claimsTooMuch(w *modelWindow, c sdk.WindowCompletion) bool {
	for _, d := range c.Done {
		for p := max(d.From, w.From); p < min(d.Next, w.Next); p++ {
			if !m.lake[p] {
				return true
			}
		}
	}
	return false
}

// completed cuts the window into runs of what is open and what is lost.
func (m *windowModel) completed(w *modelWindow, c sdk.WindowCompletion) {
	in := func(is []coverage.Interval, p int64) bool {
		return slices.ContainsFunc(is, func(i coverage.Interval) bool { return p >= i.From && p < i.Next })
	}
	m.ws = slices.DeleteFunc(m.ws, func(x *modelWindow) bool { return x == w })
	first := true
	add := func(from, next int64, state sdk.WindowState) {
		n := &modelWindow{RecoveryWindow: window(from, next)}
		n.State = state
		if state == sdk.WindowOpen && first {
			n.ID, n.Fence, n.LeaseVersion, first = w.ID, w.Fence, w.LeaseVersion+1, false
		}
		m.ws = append(m.ws, n)
	}
	for p := w.From; p < w.Next; {
		if lost := in(c.Unrecoverable, p) && !in(c.Done, p); lost {
			from := p
			for p < w.Next && in(c.Unrecoverable, p) && !in(c.Done, p) {
				p++
			}
			add(from, p, sdk.WindowUnrecoverable)
			continue
		}
		from, next := int64(-1), int64(0) // the hull up to what is lost next
		for ; p < w.Next && !(in(c.Unrecoverable, p) && !in(c.Done, p)); p++ {
			if !in(c.Done, p) {
				next = p + 1
				if from < 0 {
					from = p
				}
			}
		}
		if from >= 0 {
			add(from, next, sdk.WindowOpen)
		}
	}
}

func (m *windowModel) pass(*rapid.T) {
	h := rapid.IntRange(1, modelTTL).Draw(m.t, "hours pass")
	m.hour += h
	_, err := m.db.Exec(context.Background(), "update _twg.windows set lease_until = lease_until - $1 * interval '1 hour' where lane = $2", h, m.lane)
	m.fatal(err)
}

func (m *windowModel) cover(*rapid.T) {
	i := m.draw("held")
	m.fatal(m.s.Record(context.Background(), m.lane, []sdk.CoverageRecord{{Stream: streamA, Held: []coverage.Interval{i}}}))
	for p := i.From; p < i.Next; p++ {
		m.lake[p] = true
	}
}

func (m *windowModel) compare(*rapid.T) {
	m.ws = slices.DeleteFunc(m.ws, func(w *modelWindow) bool {
		return w.State == sdk.WindowUnrecoverable && !slices.Contains(m.lake[w.From:w.Next], false)
	})
	slices.SortFunc(m.ws, func(a, b *modelWindow) int { return cmp.Compare(a.From, b.From) })
	got, err := m.s.Windows(context.Background(), m.lane)
	m.fatal(err)
	if len(got) != len(m.ws) {
		m.t.Fatalf("windows %s, want %d", show(got), len(m.ws))
	}
	for i, w := range m.ws {
		g := got[i]
		if w.ID == 0 { // it was made by a completion
			m.fresh(g.ID)
			w.ID = g.ID
		}
		if g.ID != w.ID || g.Window != w.Window || g.State != w.State || g.Fence != w.Fence || g.LeaseVersion != w.LeaseVersion || (g.Lease > 0) != (w.State == sdk.WindowClaimed && m.hour <= w.until) {
			m.t.Fatalf("window %+v, want %+v at hour %d, until %d", g, w.RecoveryWindow, m.hour, w.until)
		}
	}
}
