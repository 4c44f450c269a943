package pipeline

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/plugins/parquet/disk"
	"github.com/twg-io/twg/sdk"
)

// sim is a world in which hosts of all roles live: a broker that prunes what
// was committed, raw's store and sink, secondaries that lose what was not
// synced, and everything that can happen to them. One lock guards it, so that
// a rule about several parts can be checked at the moment when it would break.
//
// A schedule is one seed: each actor draws from dice of its own, so what one
// does at the same moment of virtual time as another changes neither's luck.
type sim struct {
	t    *testing.T
	seed uint64
	bug  string // a flaw that this world has on purpose; empty: none
	pr   simProfile

	mu      sync.Mutex
	dice    map[string]*rand.Rand
	steps   int
	digest  uint64 // of all steps, whatever their order within a moment
	did     map[string]int
	calm    bool // no more faults
	healed  bool // no secondary refuses anything any more
	began   time.Time
	streams []*simStream // all that ever were, by their first day
	byKey   map[sdk.Stream]*simStream
	hosts   []*simHost // that live
	begun   int
	topics  int
	mem     *disk.Mem  // where the store is the real one; nil: the world's own
	procs   []*simHost // those that have it open
	lanes   []*simLane // all that ever were
	wanted  []*simLane // in the configuration now
	rawDown time.Time  // until then
	// clock is how far the store's is ahead; noClock: it has none.
	clock   time.Duration
	noClock bool
	seq     uint64
	// undo takes back what raw's store has and did not sync, the newest last.
	undo   []func()
	broken []string
	story  [300]simEvent
	whole  strings.Builder // all of it, with -story
	// graves are what still ends: hosts that were killed, sinks that lie.
	graves sync.WaitGroup
}

// simEvent is a step, for whoever looks into a failure.
type simEvent struct {
	at        time.Duration
	what, who string
	stream    string
	a, b      int64
}

func (e simEvent) String() string {
	return fmt.Sprintf("%16.9f  %-28s %-16s %-10s %d %d\n", e.at.Seconds(), e.what, e.who, e.stream, e.a, e.b)
}

func newSim(t *testing.T, seed uint64, bug string) *sim {
	s := &sim{t: t, seed: seed, bug: bug, dice: map[string]*rand.Rand{}, did: map[string]int{}, began: time.Now(), byKey: map[sdk.Stream]*simStream{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pr = s.profile()
	s.noClock = s.roll("world", 2) == 0
	if s.pr.files && bug == "" {
		s.mem, s.noClock = disk.NewMem(), true
	}
	for range s.pr.topics {
		s.createTopic(fmt.Sprint("t", s.topics), "i0")
		s.topics++
	}
	for range s.pr.lanes {
		s.addLane(nil)
	}
	return s
}

// die returns an actor's dice. The lock is held.
func (s *sim) die(who string) *rand.Rand {
	d := s.dice[who]
	if d == nil {
		h := fnv.New64a()
		h.Write([]byte(who))
		d = rand.New(rand.NewPCG(s.seed, h.Sum64()))
		s.dice[who] = d
	}
	return d
}

// dieNow returns dice for this moment: of what several of a host's goroutines
// may do at once, in whatever order. The lock is held.
func (s *sim) dieNow(who string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprint(h, who, int64(time.Since(s.began)))
	return rand.New(rand.NewPCG(s.seed, h.Sum64()))
}

// roll is a random number below n. The lock is held.
func (s *sim) roll(who string, n int) int { return s.die(who).IntN(n) }

// n is roll without the lock.
func (s *sim) n(who string, n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roll(who, n)
}

// within is a time of at most most.
func (s *sim) within(who string, most time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withinLocked(who, most)
}

func (s *sim) withinLocked(who string, most time.Duration) time.Duration {
	return 1 + time.Duration(s.die(who).Int64N(int64(max(most, 1))))
}

// fault decides with a chance of one in n, and less in a world where faults
// are rare. The lock is held.
func (s *sim) fault(who string, n int, what string) bool {
	return s.faultBy(s.die(who), who, n, what)
}

func (s *sim) faultBy(d *rand.Rand, who string, n int, what string) bool {
	if s.calm || d.IntN(n*s.pr.rare) != 0 {
		return false
	}
	s.step(what, who, nil, 0, 0)
	return true
}

func (s *sim) faultNow(who string, n int, what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault(who, n, what)
}

// step counts something that happened. The lock is held.
func (s *sim) step(what, who string, p *simStream, a, b int64) {
	e := simEvent{at: time.Since(s.began), what: what, who: who, a: a, b: b}
	if p != nil {
		e.stream = p.name
	}
	s.story[s.steps%len(s.story)] = e
	s.steps++
	s.note(e)
}

// note counts what is not a step of its own. The lock is held.
func (s *sim) note(e simEvent) {
	s.did[e.what]++
	h := fnv.New64a()
	h.Write([]byte(e.String()))
	s.digest += h.Sum64()
	if *story != "" {
		s.whole.WriteString(e.String())
	}
}

// wrong notes a broken rule. The lock is held.
func (s *sim) wrong(format string, args ...any) {
	if len(s.broken) < 5 {
		s.broken = append(s.broken, fmt.Sprintf("%9.3fs  ", time.Since(s.began).Seconds())+fmt.Sprintf(format, args...))
	}
}

func (s *sim) isBroken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.broken) > 0
}

// tell is what happened last. The lock is held.
func (s *sim) tell() string {
	var b strings.Builder
	for i := max(0, s.steps-len(s.story)); i < s.steps; i++ {
		b.WriteString(s.story[i%len(s.story)].String())
	}
	return b.String()
}

// outcome is what one schedule came to.
type outcome struct {
	steps  int
	digest uint64
	did    map[string]int
	broken []string
	story  string
	world  string
}

// simulate runs one schedule in a bubble of its own.
func simulate(t *testing.T, seed uint64, most int, bug string) (o outcome) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim(t, seed, bug)
		s.run(most)
		s.mu.Lock()
		defer s.mu.Unlock()
		o = outcome{s.steps, s.digest, s.did, s.broken, "", s.pr.String()}
		if len(s.broken) > 0 {
			o.story = s.tell()
		}
		if *story != "" {
			if err := os.WriteFile(*story, []byte(s.whole.String()), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	return o
}
