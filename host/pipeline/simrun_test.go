package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/twg-io/twg/sdk"
)

// run is a whole schedule: a storm of some steps, then peace, in which
// everything has to come right, and the judgement.
func (s *sim) run(most int) {
	stop := make(chan struct{})
	s.graves.Go(func() { s.produce(stop) })
	s.storm(min(most, s.pr.limit))
	close(stop)
	s.setCalm()
	s.settle()
	s.judge()
	s.mu.Lock()
	for len(s.hosts) > 0 {
		s.hosts[0].kill("over")
	}
	s.mu.Unlock()
	s.graves.Wait()
}

// storm lets things happen until there were that many steps, or something
// broke.
func (s *sim) storm(steps int) {
	for quiet := 0; quiet < 1000; quiet++ {
		s.mu.Lock()
		before, over := s.steps, s.steps >= steps || len(s.broken) > 0
		for len(s.hosts) < s.pr.hosts && !over && s.roll("conductor", 3) > 0 {
			role := pick2(s, RoleBoth, RoleIngest, RoleRecovery)
			if !slices.ContainsFunc(s.hosts, func(h *simHost) bool { return h.role != RoleRecovery }) {
				role = pick2(s, RoleBoth, RoleIngest)
			}
			s.mu.Unlock()
			s.begin(role)
			s.mu.Lock()
		}
		s.mu.Unlock()
		if over {
			return
		}
		time.Sleep(s.within("conductor", s.pr.tick))
		s.happen()
		s.checkHosts()
		s.mu.Lock()
		if s.steps > before {
			quiet = 0
		}
		s.mu.Unlock()
	}
}

// pick2 chooses a value with the conductor's dice. The lock is held.
func pick2[T any](s *sim, of ...T) T { return of[s.roll("conductor", len(of))] }

func (s *sim) checkHosts() {
	s.mu.Lock()
	hosts := slices.Clone(s.hosts)
	s.mu.Unlock()
	for _, h := range hosts {
		h.check()
	}
}

// happen is what befalls the world from outside, or nothing.
func (s *sim) happen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roll("conductor", 1+s.pr.rare) > 1 {
		return
	}
	var h *simHost
	if n := len(s.hosts); n > 0 {
		h = s.hosts[s.roll("conductor", n)]
	}
	l := s.wanted[s.roll("conductor", len(s.wanted))]
	switch k := s.roll("conductor", 40); {
	case s.pr.contended && k%2 == 0 && s.holder() != nil:
		if h = s.holder(); s.noClock || k%4 == 0 {
			s.sleep(h)
			return
		}
		s.clock += time.Hour
		s.step("clock set", "raw", nil, int64(s.clock), 0)
	case k < 6 && h != nil && (s.pr.violent || s.roll("conductor", 4) == 0):
		s.toHost(h)
	case k < 8:
		if s.roll("conductor", 3) == 0 {
			s.cutRaw()
		}
	case k < 10:
		s.cutPower(l)
	case k < 14:
		l.target.down = !l.target.down
		s.step("secondary down", l.target.name, nil, 0, 0)
	case k < 16:
		s.clock += time.Duration(s.roll("conductor", 7201)-3600) * time.Second
		s.step("clock set", "raw", nil, int64(s.clock), 0)
	case k < 22:
		s.prune()
	case k < 24:
		s.reconfigure()
	case k < 25 && s.roll("conductor", 3) == 0:
		s.deleteTopic()
	case k < 27 && s.roll("conductor", 3) == 0:
		s.retain()
	case k < 29:
		l.target.poison = !l.target.poison
		s.step("poison", l.target.name, nil, 0, 0)
	case k < 30:
		s.graves.Go(func() { s.command(l, true) })
	}
}

// holder is a host that works on a window: who sleeps then, or is hit by a jump
// of the clock, has something to lose. nil: nobody. The lock is held.
func (s *sim) holder() *simHost {
	for _, l := range s.wanted {
		for _, x := range l.windows {
			i := slices.IndexFunc(s.hosts, func(h *simHost) bool { return h.name == x.Holder && h.thaw == nil && !h.stopping })
			if i >= 0 && x.State == sdk.WindowClaimed && time.Since(x.changed) < s.pr.lease {
				return s.hosts[i]
			}
		}
	}
	return nil
}

// toHost kills a host, stops it, or lets it sleep. The lock is held.
func (s *sim) toHost(h *simHost) {
	switch k := s.roll("conductor", 6); {
	case k < 3 && (h.thaw == nil || s.roll("conductor", 4) == 0):
		h.kill("kill -9")
	case h.stopping || h.thaw != nil:
	case k == 3:
		h.stopping = true
		s.step("stopped", h.name, nil, 0, 0)
		s.graves.Go(func() { s.stopped(h) })
	default:
		s.sleep(h)
	}
}

// sleep lets a host sleep for a while. The lock is held.
func (s *sim) sleep(h *simHost) {
	h.sleep()
	s.graves.Go(func() {
		pause(context.Background(), s.within(h.name+"/sleep", s.pr.sleep))
		s.mu.Lock()
		defer s.mu.Unlock()
		if !h.dead {
			s.step("host wakes", h.name, nil, 0, 0)
		}
		h.wake()
	})
}

// stopped waits for a graceful stop.
func (s *sim) stopped(h *simHost) {
	err := h.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !h.dead {
		h.bury()
		h.exit()
		if err != nil {
			s.wrong("the stop of %s failed: %v", h.name, err)
		}
	}
}

// setCalm ends all faults: whoever sleeps wakes, whatever is down comes back.
func (s *sim) setCalm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calm, s.rawDown = true, time.Time{}
	s.step("calm", "world", nil, 0, 0)
	for _, h := range s.hosts {
		h.wake()
	}
	for _, l := range s.lanes {
		l.target.down = s.roll("world", 3) == 0 // until raw has caught up
	}
}
