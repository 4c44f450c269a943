package pipeline

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/plugins/parquet/sink"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// This file is for worlds whose store is the real one of a Parquet directory,
// on a disk that loses what was not synced: epochs, coverage, voids, floors,
// windows and leases are the product's. What the model has beside it follows
// the answers, and has to agree. A loss of power takes all hosts with it.

// simProcess is a host's process as the directory sees it.
type simProcess struct {
	*sink.Sink
	dir *disk.MemDir
}

func (s *sim) openStore() simProcess {
	p := simProcess{dir: s.mem.Dir()}
	p.Sink = sink.NewOn(func(string, bool) (disk.Dir, error) { return p.dir, nil })
	if _, diags := p.Configure(sdk.NewSettings([]byte(`{"dir":"mem"}`))); diags.HasErrors() {
		panic(diags)
	}
	return p
}

// disk is the host's process, which ends with it. The lock is held.
func (h *simHost) disk() *sink.Sink {
	if h.proc == nil {
		p := h.s.openStore()
		h.proc = &p
		h.deaths = append(h.deaths, p.dir.Kill)
		h.s.procs = append(h.s.procs, h)
	}
	return h.proc.Sink
}

// record writes coverage of raw, or finds out that it may not. The lock is held.
func (h *simHost) record(p *simStream, e sdk.Epoch, held []coverage.Interval) {
	fenced := e != p.epoch
	err := h.disk().Record(context.Background(), sdk.LaneRaw, []sdk.CoverageRecord{{Stream: p.key, Epoch: e, Held: held}})
	if fenced != (sdk.KindOf(err) == sdk.KindFenced) || !fenced && err != nil {
		h.s.wrong("INV6: %s records %v of %s under a stale epoch: %v; the store says %v", h.name, held, p.name, fenced, err)
	}
}

// agree compares what the store says of a lane with the model. The lock is held.
func (s *sim) agree(lane string, c sdk.StreamCoverage) {
	p := s.byKey[c.Stream]
	held, aside := p.cov.Held(), []coverage.Interval(nil)
	if l := s.lane(lane); l != nil {
		held, aside = l.part(p).held.Held(), l.part(p).setAside()
	} else if got, want := c.Set.FirstHole(), p.cov.FirstHole(); got != want {
		s.wrong("INV8: the store's first hole of %s is %d, it should be %d", p.name, got, want)
	}
	if !slices.Equal(c.Set.Held(), held) || !slices.Equal(c.SetAside, aside) {
		s.wrong("INV8: the store has %v (refused: %v) of %s in lane %s, it should have %v (%v)", c.Set.Held(), c.SetAside, p.name, lane, held, aside)
	}
}

// follow makes the model's windows of a lane those of the store. Unless one was
// just completed, of which a prefix or several pieces may be left, they are
// (strict). The lock is held.
func (s *sim) follow(h *simHost, l *simLane, strict bool) {
	ws, err := h.disk().Windows(context.Background(), l.name)
	if err != nil {
		s.wrong("windows of lane %s: %v", l.name, err)
	}
	old := l.windows
	l.windows = nil
	for _, w := range ws {
		x := &simWindow{RecoveryWindow: w, lane: l, changed: time.Now(), fence: w.Fence}
		if i := slices.IndexFunc(old, func(o *simWindow) bool { return o.ID == w.ID }); i >= 0 {
			x.changed = old[i].changed
			if o := old[i]; strict && (o.Fence != w.Fence || o.State != w.State || o.From != w.From || o.Next != w.Next) {
				s.wrong("the store has window %+v, it should be %+v", w, o.RecoveryWindow)
			}
		}
		l.windows = append(l.windows, x)
	}
	if strict && len(l.windows) != len(old) {
		s.wrong("the store of lane %s has %d windows, it should have %d", l.name, len(l.windows), len(old))
	}
}

// powerCut ends all processes; what the directory had answered must be there.
// The lock is held.
func (s *sim) powerCut() {
	for _, h := range s.procs {
		if !h.dead {
			h.kill("power cut")
		}
	}
	s.procs = nil
	s.mem.PowerCut(func(string) bool { return s.roll("disk", 2) == 0 })
	s.lookAtStore()
}

// lookAtStore compares everything that a new process reads with the model. The
// lock is held.
func (s *sim) lookAtStore() {
	p := s.openStore()
	defer p.dir.Kill()
	var keys []sdk.Stream
	for _, x := range s.streams {
		keys = append(keys, x.key)
	}
	lanes := []string{sdk.LaneRaw}
	for _, l := range s.lanes {
		lanes = append(lanes, l.name)
	}
	for _, lane := range lanes {
		got, err := p.Coverage(context.Background(), lane, keys)
		if err != nil {
			s.wrong("INV8: the store cannot be read: %v", err)
			return
		}
		for _, c := range got {
			s.agree(lane, c)
		}
		floors, err := p.Floors(context.Background(), lane, keys)
		for i, f := range floors {
			if l := s.lane(lane); l != nil && f.Live != l.part(s.streams[i]).floor {
				s.wrong("INV8: the live floor of lane %s is %d of %s, it should be %d", lane, f.Live, s.streams[i].name, l.part(s.streams[i]).floor)
			}
		}
		if err != nil {
			s.wrong("floors: %v", err)
		}
	}
}

// realClaim claims in the store, and has the model follow. The lock is held.
func (r simRaw) realClaim(c sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	s := r.h.s
	w, err := r.h.disk().ClaimWindow(context.Background(), c)
	if err != nil {
		s.step("claim refused", r.h.name, nil, 0, 0)
		return nil, err
	}
	if w == nil {
		return nil, nil
	}
	l := s.lane(c.Lane)
	i := slices.IndexFunc(l.windows, func(x *simWindow) bool { return x.ID == w.ID })
	if i < 0 {
		return nil, fmt.Errorf("a window that was never planned: %+v", w)
	}
	x := l.windows[i]
	s.claim(r.h.name, x, c)
	if x.Fence != w.Fence {
		s.wrong("INV6: the fence is %d, it should be %d", w.Fence, x.Fence)
	}
	x.LeaseVersion = w.LeaseVersion
	return w, nil
}
