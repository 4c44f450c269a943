package pipeline

import (
	"context"
	"time"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// settle is peace: with hosts of the newest configuration everything catches
// up without help (INV4), raw first, whatever the secondaries do (INV9).
func (s *sim) settle() {
	if s.isBroken() {
		return
	}
	s.renewHosts()
	if !s.await(s.behind) {
		s.hopeless("INV4: raw does not catch up", s.standing)
		return
	}
	s.mu.Lock()
	s.step("raw has caught up", "world", nil, 0, 0)
	for _, l := range s.lanes {
		l.target.down = false
	}
	heal := s.roll("world", 2) == 0
	s.healed = heal
	for _, l := range s.wanted {
		l.target.poison = l.target.poison && !heal
	}
	lanes := s.wanted
	s.mu.Unlock()
	if !s.await(func() int64 { return s.lacking(false) }) {
		s.hopeless("INV4: a secondary does not get what it misses", s.laneStanding)
		return
	}
	for _, l := range lanes {
		s.command(l, heal)
		for n := 0; heal && s.aside(l) > 0 && n < 20; n++ { // a window was in the way
			time.Sleep(time.Minute)
			s.command(l, true)
		}
	}
	if !s.await(func() int64 { return s.lacking(true) + s.windowsLeft() }) {
		s.hopeless("INV4: something is stranded", s.laneStanding)
		return
	}
	for _, h := range s.living() {
		if err := h.stop(); err != nil {
			s.hopeless("the last stop failed: "+err.Error(), nil)
		}
	}
}

func (s *sim) living() []*simHost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*simHost(nil), s.hosts...)
}

// renewHosts replaces all hosts by ones with today's configuration, some of
// them without a word.
func (s *sim) renewHosts() {
	for _, h := range s.living() {
		s.mu.Lock()
		kill := s.roll("world", 2) == 0
		if kill && !h.dead {
			h.kill("kill -9")
		}
		h.stopping = true
		s.mu.Unlock()
		if !kill {
			s.stopped(h)
		}
	}
	role := RoleBoth
	if s.n("world", 2) == 0 {
		role = RoleIngest
		s.begin(RoleRecovery)
	}
	s.begin(role)
}

// await waits until nothing is left, which is called with the lock. false:
// nothing has changed for so long that it never will.
func (s *sim) await(left func() int64) bool {
	best := int64(-1)
	for since := time.Now(); time.Since(since) < 20*time.Minute; {
		s.mu.Lock()
		n, broken := left(), len(s.broken) > 0
		s.mu.Unlock()
		if n == 0 || broken {
			return true
		}
		if best < 0 || n < best {
			best, since = n, time.Now()
		}
		time.Sleep(5 * time.Second)
		s.checkHosts()
	}
	return false
}

func (s *sim) hopeless(what string, more func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong("%s", what)
	if more != nil {
		more()
	}
}

// known is what recovery sees of a stream in a lane. The lock is held.
func (s *sim) known(l *simLane, p *simStream) recovery.Known {
	part := l.part(p)
	return recovery.Known{Stream: p.key, Raw: p.rawCoverage(), Lane: &part.held, SetAside: part.setAside(), Floors: sdk.Floors{Live: part.floor, Raw: p.rawFloor}}
}

// lacking counts what raw has and a secondary lacks: below the live floors, or
// all of it. The lock is held.
func (s *sim) lacking(all bool) (n int64) {
	for _, l := range s.wanted {
		for _, p := range s.streams {
			k := s.known(l, p)
			switch {
			case !p.deleted:
				k.Floors.Live = sdk.MaxPosition
			case all:
				k.Floors.Live = p.reachable()
			}
			for _, i := range k.Missing(recovery.Options{}) {
				n += i.Next - i.From
			}
		}
	}
	return n
}

// reachable is below which position a secondary can get what raw has. Nobody can
// fill a hole that a deleted topic has left in raw, and what lies above it is
// not rebuilt (docs/recovery.md). The lock is held.
func (p *simStream) reachable() int64 {
	if p.deleted {
		return p.cov.FirstHole()
	}
	return sdk.MaxPosition
}

// aside counts what a lane has refused.
func (s *sim) aside(l *simLane) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.streams {
		for _, i := range l.part(p).setAside() {
			if i.Next > p.rawFloor {
				n++
			}
		}
	}
	return n
}

func (s *sim) windowsLeft() (n int64) {
	for _, l := range s.wanted {
		for _, x := range l.windows {
			if x.State != sdk.WindowUnrecoverable {
				n++
			}
		}
	}
	return n
}

// standing and laneStanding say more of what is wrong. The lock is held.
func (s *sim) standing() {
	for _, p := range s.alive() {
		if p.committed != p.end || p.cov.FirstHole() < p.end {
			s.wrong("%s: committed %d, first hole %d, [%d,%d), run %d, owned %v", p.name, p.committed, p.cov.FirstHole(), p.start, p.end, p.run, p.owner != nil)
		}
	}
}

func (s *sim) laneStanding() {
	for _, l := range s.wanted {
		for _, p := range s.streams {
			k := s.known(l, p)
			k.Floors.Live = p.reachable()
			if m := k.Missing(recovery.Options{}); len(m) > 0 {
				s.wrong("lane %s lacks %v of %s (deleted %v), live floor %d, raw's hole %d", l.name, m, p.name, p.deleted, l.part(p).floor, p.cov.FirstHole())
			}
		}
		for _, x := range l.windows {
			if x.State != sdk.WindowUnrecoverable {
				s.wrong("a window is left: %+v, changed %v ago", x.RecoveryWindow, time.Since(x.changed))
			}
		}
	}
}

// command is `twg recover --sink NAME`, in a process of its own: with
// --orphans where topics are gone and no host has their streams any more, and
// with --retry-rejected, perhaps.
func (s *sim) command(l *simLane, retry bool) {
	s.mu.Lock()
	h := s.newHost(RoleRecovery)
	c := s.recovery(h.name + "/config")
	var orphans []*simStream
	for _, p := range s.streams {
		if s.calm && p.deleted && l.part(p).floor < p.cov.FirstHole() {
			orphans = append(orphans, p)
		}
	}
	s.step("twg recover", l.name, nil, int64(len(orphans)), 0)
	s.mu.Unlock()
	store := simRaw{h: h}
	ctx := context.Background()
	for _, p := range orphans {
		s.adopt(ctx, store, l, p)
	}
	w := recovery.New(recovery.Config{Lane: l.name, Pipeline: "p", Owner: h.name, Raw: store, Store: store, Sink: simSecondary{h, l, "command"}, Limits: sdk.DefaultLimits,
		WindowRows: c.WindowRows, WindowDuration: c.WindowDuration, LeaseTTL: c.LeaseTTL, Budget: c.Budget, Interval: c.Interval, Attempts: 3,
		Stop: make(chan struct{}), Alarm: func(string) {}, Logger: quiet()})
	defer func() {
		w.Close(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		h.exit()
	}()
	for range 5 {
		if _, err := w.Once(ctx, nil, recovery.Options{WindowRows: c.WindowRows, RetrySetAside: retry}); err == nil {
			return
		}
	}
}

// adopt takes over a stream that no host has any more, as the command does.
func (s *sim) adopt(ctx context.Context, store simRaw, l *simLane, p *simStream) {
	got, err := store.Acquire(ctx, store.h.name, []sdk.Stream{p.key})
	if err == nil {
		s.mu.Lock()
		hole := p.cov.FirstHole()
		s.mu.Unlock()
		err = store.Record(ctx, l.name, []sdk.CoverageRecord{{Stream: p.key, Epoch: got[0].Epoch, LiveFloor: hole}})
	}
	if err != nil {
		s.hopeless("adopt: "+err.Error(), nil)
	}
}

// judge looks at the end: what was produced and not taken away is in raw, once;
// each secondary has what raw ever had, but for what it refuses still and what
// is reported as unrecoverable.
func (s *sim) judge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.broken) > 0 {
		return
	}
	if s.mem != nil {
		s.lookAtStore()
	}
	for _, p := range s.streams {
		for pos := p.base; pos < p.end; pos++ {
			at := coverage.Interval{From: pos, Next: pos + 1}
			n, held := p.has(p.rows, pos), len(p.cov.HeldWithin(at)) > 0
			switch {
			case n > 1:
				s.wrong("INV3: position %d of %s is in raw %d times", pos, p.name, n)
			case held && p.exists(pos) && n == 0, !held && n > 0:
				s.wrong("INV8: position %d of %s: held %v, %d rows", pos, p.name, held, n)
			case n == 0 && p.exists(pos) && !p.deleted && pos >= p.forced:
				s.wrong("INV1: the record at %d of %s is nowhere", pos, p.name)
			}
		}
	}
	for _, l := range s.wanted {
		for _, p := range s.streams {
			s.judgeLane(l, p)
		}
	}
}

func (s *sim) judgeLane(l *simLane, p *simStream) {
	k := s.known(l, p)
	k.Floors.Live = sdk.MaxPosition
	var excused coverage.Set
	for _, i := range k.Unrecoverable(recovery.Options{}) {
		excused.AddHeld(i)
	}
	for _, i := range k.SetAside {
		for pos := i.From; pos < i.Next; pos++ {
			if p.poisoned(pos) && (!s.healed || pos < p.rawFloor) { // or pruned, and so refused for ever
				excused.AddHeld(coverage.Interval{From: pos, Next: pos + 1})
			}
		}
	}
	if end := p.reachable(); end < p.end {
		excused.AddHeld(coverage.Interval{From: end, Next: p.end})
	}
	rows := *l.target.of(p)
	for pos := p.base; pos < p.end; pos++ {
		there := p.has(rows, pos) > 0
		switch {
		case there && p.has(p.rows, pos) == 0:
			s.wrong("lane %s has %d of %s, which raw never had", l.name, pos, p.name)
		case !there && p.has(p.rows, pos) > 0 && len(excused.Missing(coverage.Interval{From: pos, Next: pos + 1})) > 0:
			s.wrong("lane %s lacks %d of %s, and nobody says so (held: %v, refused: %v, healed: %v)", l.name, pos, p.name,
				k.Lane.Covers(coverage.Interval{From: pos, Next: pos + 1}), p.poisoned(pos), s.healed)
		}
	}
}
