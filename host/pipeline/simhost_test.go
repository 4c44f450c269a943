package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/twg-io/twg/sdk"
)

// simHost is one host's process, with the product's pipeline in it, and what
// stands between it and the world: once it is dead it has no effect, but for
// what it had sent already; while it sleeps nothing leaves it or reaches it.
type simHost struct {
	s      *sim
	name   string
	role   Role
	p      *Pipeline // nil: one command, `twg recover`
	cancel context.CancelFunc
	done   chan error
	limit  int64 // its memory budget
	lanes  []*simLane
	buffer int64

	// Guarded by the world's lock.
	dead, stopping bool
	since          time.Time     // of its death, or of its sleep
	thaw           chan struct{} // nil: it is awake
	deaths         []func()      // what dies with it
	proc           *simProcess   // that has the directory open, if it is one
	largest        int64         // frame that it was given
}

var errDead = errors.New("the host is dead")

// newHost makes a host without a pipeline. The lock is held.
func (s *sim) newHost(role Role) *simHost {
	s.begun++
	return &simHost{s: s, name: fmt.Sprint("h", s.begun), role: role, done: make(chan error, 1), lanes: append([]*simLane(nil), s.wanted...)}
}

// begin starts a host.
func (s *sim) begin(role Role) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.newHost(role)
	who := h.name + "/config"
	h.limit = 1 + s.die(who).Int64N(2*s.pr.budget)
	h.buffer = 1 + s.die(who).Int64N(2*s.pr.buffer)
	sink := simRaw{h: h, hold: s.roll(who, 2) == 0, room: 1 + s.roll(who, 8)}
	caps := storeCaps
	caps.Replayable, caps.HoldsUntilClose = true, sink.hold
	cfg := Config{Name: "p", Owner: h.name, Source: simSource{h}, Sink: sink, SinkCaps: caps, Role: role,
		SourceCaps: sdk.Capabilities{Position: sdk.PositionBroker}, MemoryBudget: h.limit,
		MaxAckDelay: s.withinLocked(who, 20*time.Second), OnGap: GapContinue, Logger: quiet(), Granularity: pick(s, sdk.GranularityBatch, sdk.GranularityRecord),
		Recovery: s.recovery(who)}
	if s.pr.named {
		cfg.SourceCaps.Position = sdk.PositionStore
	}
	for _, l := range h.lanes {
		cfg.Secondaries = append(cfg.Secondaries, Secondary{Name: l.name, Sink: simSecondary{h, l, "live"}, Recovery: simSecondary{h, l, "recovery"},
			Caps: sdk.Capabilities{Durable: true}, Buffer: h.buffer, Attempts: 1 + s.roll(who, 4)})
	}
	s.hosts = append(s.hosts, h)
	s.step("host begins", h.name, nil, int64(role), int64(len(h.lanes)))
	ctx, cancel := context.WithCancel(context.Background())
	h.p, h.cancel = New(cfg), cancel
	go func() { h.done <- h.p.Run(ctx) }()
}

func (s *sim) recovery(who string) Recovery {
	return Recovery{WindowRows: 1 + s.die(who).Int64N(2*s.pr.windowRows), WindowDuration: s.withinLocked(who, 30*time.Second),
		LeaseTTL: s.pr.lease/2 + s.withinLocked(who, s.pr.lease), Budget: 1 + s.die(who).Int64N(2*s.pr.budget), Interval: s.withinLocked(who, 10*time.Second)}
}

// onDeath says what dies with the host.
func (h *simHost) onDeath(f func()) {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if h.dead {
		f()
		return
	}
	h.deaths = append(h.deaths, f)
}

// unheard is for how long the broker has not heard of the host. The lock is
// held.
func (h *simHost) unheard() time.Duration {
	if h.dead || h.thaw != nil {
		return time.Since(h.since)
	}
	return 0
}

// kill is kill -9. What it had sent may still arrive. The lock is held.
func (h *simHost) kill(what string) {
	h.s.step(what, h.name, nil, 0, 0)
	h.bury()
	h.dead, h.since = true, time.Now()
	h.wake()
	for _, f := range h.deaths {
		f()
	}
	if h.cancel != nil { // it is not a command
		h.cancel()
		h.s.graves.Go(func() { <-h.done })
	}
}

// exit ends a process that has come to its end. The lock is held.
func (h *simHost) exit() {
	h.dead, h.since = true, time.Now()
	for _, f := range h.deaths {
		f()
	}
}

// bury takes a host out of those that live. The lock is held.
func (h *simHost) bury() {
	for i, o := range h.s.hosts {
		if o == h {
			h.s.hosts = append(h.s.hosts[:i:i], h.s.hosts[i+1:]...)
			return
		}
	}
}

// sleep is SIGSTOP, or a machine that stands still. The lock is held.
func (h *simHost) sleep() {
	h.s.step("host sleeps", h.name, nil, 0, 0)
	h.thaw, h.since = make(chan struct{}), time.Now()
}

// wake ends a sleep. The lock is held.
func (h *simHost) wake() {
	if h.thaw != nil {
		close(h.thaw)
		h.thaw = nil
	}
}

// stop is a graceful stop, which must end in time.
func (h *simHost) stop() error {
	h.cancel()
	select {
	case err := <-h.done:
		h.done <- err // for whoever buries it
		if errors.Is(err, ErrShutdownTimeout) || h.wasTakenOver(err) {
			return nil
		}
		return err
	case <-time.After(3 * DefaultShutdownTimeout):
		return errors.New("it does not stop")
	}
}

// pass waits while the host sleeps, and fails if it is dead.
func (h *simHost) pass(ctx context.Context) error {
	for {
		h.s.mu.Lock()
		dead, thaw := h.dead, h.thaw
		h.s.mu.Unlock()
		switch {
		case dead:
			pause(ctx, time.Second)
			return errDead
		case thaw == nil:
			return ctx.Err()
		}
		select {
		case <-thaw:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// call does f in the world, as something that a host asks for: it takes time,
// may be lost on its way or on its way back, and may arrive after its sender
// has died. f is called with the lock.
func (h *simHost) call(ctx context.Context, op string, f func() error) error {
	who := h.name + "/" + op
	if err := h.pass(ctx); err != nil {
		return err
	}
	h.s.mu.Lock()
	d := h.s.dieNow(who)
	wait := 1 + time.Duration(d.Int64N(int64(h.s.pr.slow)))
	if h.s.faultBy(d, who, 300, "a call stalls") {
		wait += time.Duration(d.Int64N(int64(time.Minute)))
	}
	h.s.mu.Unlock()
	if !pause(ctx, wait) {
		return ctx.Err()
	}
	err := h.arrive(d, who, op, f)
	if dead := h.pass(ctx); dead != nil {
		return dead
	}
	return err
}

func (h *simHost) arrive(d *rand.Rand, who, op string, f func() error) error {
	s := h.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case h.dead && (s.mem != nil || d.IntN(2) == 0):
		return errDead
	case s.faultBy(d, who, 40, "a call failed"):
		return fmt.Errorf("%s: connection refused", op)
	}
	if err := f(); err != nil {
		return err
	}
	if s.faultBy(d, who, 60, "an answer was lost") {
		return fmt.Errorf("%s: connection reset", op)
	}
	return nil
}

// takenOver reports whether a host may end with err: where nobody shares out the
// streams the first fence halts, and there is none unless another has acquired.
// The lock is held.
func (h *simHost) takenOver(err error) bool {
	return err != nil && h.s.pr.named && strings.Contains(err.Error(), "was taken over") &&
		slices.ContainsFunc(h.s.streams, func(p *simStream) bool { return p.epoch.Number > 0 && p.holder != h.name })
}

func (h *simHost) wasTakenOver(err error) bool {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	return h.takenOver(err)
}

// check looks at what must hold of a host at any moment.
func (h *simHost) check() {
	h.s.mu.Lock()
	over := h.dead || h.stopping
	h.s.mu.Unlock()
	if over {
		return
	}
	select {
	case err := <-h.done:
		h.done <- err
		h.s.mu.Lock()
		defer h.s.mu.Unlock()
		h.bury()
		if err != nil && strings.Contains(err.Error(), "within a minute") || h.takenOver(err) {
			h.s.step("halted by a fence", h.name, nil, 0, 0)
			h.exit()
			h.cancel()
			return
		}
		h.s.wrong("INV4: %s ended by itself: %v", h.name, err)
		return
	default:
	}
	if h.role == RoleRecovery {
		return
	}
	st := h.p.Status()
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	if st.InFlight > h.limit+h.largest {
		h.s.wrong("INV5: %s holds %d bytes, its budget is %d, the largest frame had %d", h.name, st.InFlight, h.limit, h.largest)
	}
	for _, l := range st.Secondaries {
		if l.Live.Buffered > h.buffer {
			h.s.wrong("INV5: the lane %s of %s holds %d bytes of %d", l.Name, h.name, l.Live.Buffered, h.buffer)
		}
	}
}
