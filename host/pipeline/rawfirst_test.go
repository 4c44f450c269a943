package pipeline

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// INV1 to INV9 with secondaries: hosts that come and go, a recovery host
// beside them, lanes that die, refuse, are slow or not there, raw that is
// pruned, leases that expire. In the end each secondary has what raw has, but
// for what it refuses for good and what was pruned before it got it, and that
// is reported.
func TestRandomRawFirstSchedules(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	did := map[string]int{}
	count := max(*schedules/2, 1)
	for i := range count {
		at := first + uint64(i)
		ok := t.Run(fmt.Sprintf("seed=%d", at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for what, n := range rawFirstSchedule(t, at) {
					did[what] += n
				}
			})
		})
		if !ok {
			t.Fatalf("again: go test ./host/pipeline -run '%s$' -seed %d -schedules 1", t.Name(), at)
		}
	}
	t.Logf("%d schedules from seed %d: %v", count, first, did)
	for _, what := range []string{"set aside", "pruned", "unrecoverable", "window completed", "prefix completed", "lease expired", "window fenced",
		"secondary died before the write", "secondary died before the receipt", "secondary refused for now", "overlap refused", "secondary down", "zombie",
		"flushed", "unflushed lost", "secondary died before the flush", "secondary died before it said Flushed"} {
		if did[what] == 0 && count >= 100 {
			t.Errorf("no schedule had: %s", what)
		}
	}
}

func rawFirstSchedule(t *testing.T, seed uint64) map[string]int {
	w := newWorld(seed, 1+int(seed%3), inProcess)
	w.rawFirst(1 + w.n(2))
	var zombie, recoverer *host
	for range 1 + w.n(3) {
		h := w.beginRawFirst(t, RoleBoth)
		if w.n(2) == 0 {
			recoverer = w.beginRawFirst(t, RoleRecovery)
		}
		for range 5 + w.n(20) {
			time.Sleep(w.pause(3 * time.Second))
			w.grow()
			w.prune()
			w.toggleLanes()
			w.expireLeases()
			if w.n(8) == 0 {
				w.intrude()
			}
			if h.check(t, w); h.over {
				break
			}
		}
		if zombie != nil {
			zombie.end(t)
			zombie = nil
		}
		if recoverer != nil {
			recoverer.endRecovery(t, w)
			recoverer = nil
		}
		if w.n(3) == 0 && !h.over {
			zombie = h
			w.bury(h)
			continue
		}
		h.end(t)
	}
	w.setCalm(true)
	w.lanesUp()
	if zombie != nil && w.named { // it could still be the one that acquires last
		zombie.end(t)
		zombie = nil
	}
	last := w.beginRawFirst(t, RoleBoth)
	if zombie != nil {
		time.Sleep(w.pause(3 * time.Minute))
		zombie.end(t)
	}
	last.catchUp(t, w)
	w.awaitLanes(t)
	last.end(t)
	w.judge()
	w.judgeLanes()
	if err := w.broke(); err != nil {
		t.Fatal(err)
	}
	return maps.Clone(w.did)
}

func (w *world) beginRawFirst(t *testing.T, role Role) *host {
	w.mu.Lock()
	w.begun++
	n, takenOver := w.begun, w.takenOver
	w.mu.Unlock()
	h := &host{n: n, takenOver: takenOver, src: &chaosSource{w: w}, done: make(chan error, 1), limit: chaosBudgets[w.n(len(chaosBudgets))]}
	sink := chaosRaw{&chaosSink{w: w, hold: w.n(2) == 0, room: 1 + w.n(8)}}
	caps := storeCaps
	caps.Replayable, caps.HoldsUntilClose = true, sink.hold
	cfg := Config{Name: "p", Owner: "me", Source: h.src, Sink: sink, SinkCaps: caps, Role: role,
		SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker}, MemoryBudget: h.limit, MaxAckDelay: w.pause(20 * time.Second),
		OnGap: GapContinue, Logger: quiet(),
		Recovery: Recovery{WindowRows: 1 + int64(w.n(30)), WindowDuration: w.pause(30 * time.Second), LeaseTTL: 2*time.Second + w.pause(20*time.Second),
			Budget: int64(1 + w.n(3000)), Interval: w.pause(10 * time.Second)}}
	if w.named {
		cfg.SourceCaps.Position = sdk.PositionStore
	}
	for _, l := range w.lanes {
		s := &chaosSecondary{w: w, lane: l, room: 1 + w.n(4)}
		r := &chaosSecondary{w: w, lane: l, room: 1 + w.n(4)}
		cfg.Secondaries = append(cfg.Secondaries, Secondary{Name: l.name, Sink: s, Recovery: r, Caps: sdk.Capabilities{Durable: !l.flushes, DurableFlush: l.flushes},
			Buffer: int64(300 + w.n(20_000)), Attempts: 1 + w.n(4)})
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.p, h.cancel = New(cfg), cancel
	go func() { h.done <- h.p.Run(ctx) }()
	t.Cleanup(cancel) // of a schedule that failed
	return h
}

func (h *host) endRecovery(t *testing.T, w *world) {
	t.Helper()
	h.cancel()
	if err := <-h.done; err != nil {
		t.Fatalf("a recovery host ended with %v", err)
	}
	w.mu.Lock()
	w.did["recovery host"]++
	w.mu.Unlock()
}

// toggleLanes takes a secondary away, or brings it back.
func (w *world) toggleLanes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[w.rng.IntN(len(w.lanes))]
	if w.rng.IntN(5) == 0 {
		l.down = !l.down && !w.calm
		l.restarts++
		w.did["secondary down"]++
	}
}

// expireLeases gives leases away while their holders work on, as after a
// pause of a host or a jump of the store's clock.
func (w *world) expireLeases() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		for _, x := range l.windows {
			if x.State == sdk.WindowClaimed && w.rng.IntN(3) == 0 {
				w.seq++
				x.State, x.LeaseVersion = sdk.WindowOpen, w.seq
			}
		}
	}
}

func (w *world) lanesUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		l.down = false
	}
}

// known is what recovery sees of a stream in a lane. The lock is held.
func (w *world) known(l *chaosLane, p *chaosPart) recovery.Known {
	lp := l.parts[p.key]
	return recovery.Known{Stream: p.key, Raw: w.rawCoverage(p), Lane: &lp.held, SetAside: lp.aside.Held(), Floors: sdk.Floors{Live: lp.floor, Raw: p.rawFloor}}
}

// awaitLanes waits until nothing is missing: INV4.
func (w *world) awaitLanes(t *testing.T) {
	t.Helper()
	for range 2000 {
		missing := int64(0)
		w.mu.Lock()
		for _, l := range w.lanes {
			for _, p := range w.parts {
				k := w.known(l, p)
				k.Floors.Live = sdk.MaxPosition
				for _, i := range k.Missing(recovery.Options{}) {
					missing += i.Next - i.From
				}
			}
		}
		w.mu.Unlock()
		if missing == 0 {
			time.Sleep(3 * time.Minute) // leases end, windows are completed, floors rise
			return
		}
		time.Sleep(time.Second)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		for _, p := range w.parts {
			k := w.known(l, p)
			t.Logf("lane %s %s: raw %v, held %v aside %v floor %d, raw floor %d", l.name, p.key, k.Raw.Held(), k.Lane.Held(), k.SetAside, k.Floors.Live, k.Floors.Raw)
		}
		for _, x := range l.windows {
			t.Logf("window %+v", x.RecoveryWindow)
		}
	}
	t.Fatal("INV4: a secondary does not get what it misses")
}

// judgeLanes: each lane has what raw ever held, but for what it set aside and
// what is reported as unrecoverable; and no window is left.
func (w *world) judgeLanes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lanes {
		for _, p := range w.parts {
			k := w.known(l, p)
			var excused coverage.Set
			for _, i := range append(k.Unrecoverable(recovery.Options{}), k.SetAside...) {
				excused.AddHeld(i)
			}
			for pos := range p.end {
				at := coverage.Interval{From: pos, Next: pos + 1}
				if exists(pos) && p.rows[pos] > 0 && l.parts[p.key].rows[pos] == 0 && len(excused.Missing(at)) > 0 {
					w.wrong("lane %s lacks %d of %s, and nobody says so", l.name, pos, p.key)
				}
				if l.poison && poisoned(pos) && l.parts[p.key].rows[pos] > 0 {
					w.wrong("the poison at %d is in the lane", pos)
				}
			}
		}
		for _, x := range l.windows {
			if x.State != sdk.WindowUnrecoverable {
				w.wrong("a window is left: %+v, its lease ends in %v (clock: %v)", x.RecoveryWindow, time.Until(x.expires), !w.noClock)
			}
		}
	}
}
