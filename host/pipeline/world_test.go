package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	steps = flag.Int("steps", 10_000, "steps of the simulated world, at least")
	story = flag.String("story", "", "a file for all that happened in the last schedule")
	bug   = flag.String("bug", "", "a flaw that the simulated world is to have; it must then fail")
)

// INV1 to INV9 in a world with everything in it (sim_test.go): schedules of
// one seed after the other, until there were that many steps.
func TestWorld(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	began, did, sum, digest, at := time.Now(), map[string]int{}, 0, uint64(0), first
	for ; sum < *steps; at++ {
		ok := t.Run(fmt.Sprintf("seed=%d", at), func(t *testing.T) {
			o := simulate(t, at, 1<<30, *bug)
			t.Logf("%d steps, digest %016x", o.steps, o.digest)
			sum, digest = sum+o.steps, digest*31+o.digest
			for what, n := range o.did {
				did[what] += n
			}
			if len(o.broken) > 0 {
				t.Fatalf("after %d steps: %s\nthe world: %s\n%s", o.steps, strings.Join(o.broken, "\n"), o.world, o.story)
			}
		})
		if !ok {
			t.Fatalf("after %d steps; again: go test ./host/pipeline -run World$ -seed %d -steps 1", sum, at)
		}
	}
	t.Logf("%d steps, seeds %d to %d, in %v, digest %016x", sum, first, at-1, time.Since(began).Round(time.Second), digest)
	for _, what := range slices.Sorted(maps.Keys(did)) {
		t.Logf("%9d %s", did[what], what)
	}
}

// The world notices a flaw, soon. Its own flaws are here; test/all.sh builds
// the product with others.
func TestWorldHasTeeth(t *testing.T) {
	for _, x := range []struct {
		bug, says string
		seed      uint64 // with which it does not take long
	}{
		{"early-receipt", "INV1|which raw does not hold", 1},
		{"no-sync-raw", "INV1: after a power cut", 1},
		{"no-sync-secondary", "INV8: after a power cut", 3000},
		{"no-epoch", "INV6: h[0-9]+ writes", 3000},
		{"no-fence", "INV6: h[0-9]+ completes", 2007},
		{"lease-unchecked", "INV6: h[0-9]+ takes a window", 1},
		{"set-aside-lost", "INV4: a secondary does not get what it misses", 3000},
		{"floor-after-delete", "without the row", 3000},
		{"replay-skips", "INV8: lane", 3000},
	} {
		t.Run(x.bug, func(t *testing.T) {
			sum := 0
			for at := x.seed; sum < 400_000; at++ {
				o := simulate(t, at, 1<<30, x.bug)
				sum += o.steps
				if len(o.broken) == 0 {
					continue
				}
				if said := strings.Join(o.broken, "\n"); !regexp.MustCompile(x.says).MatchString(said) {
					t.Errorf("it said %s", said)
				}
				t.Logf("noticed after %d steps (seed %d): %s", sum, at, o.broken[0])
				return
			}
			t.Errorf("not noticed in %d steps", sum)
		})
	}
}

// One seed is one schedule, as far as it can be: the world's part is, and the
// host's too, unless its goroutines do something at the same moment.
func TestWorldRepeats(t *testing.T) {
	same, at := 0, uint64(100)
	for ; same < 2 && at < 115; at++ {
		a, b := simulate(t, at, 200, ""), simulate(t, at, 200, "")
		if a.world != b.world {
			t.Errorf("seed %d is another world the second time: %s, %s", at, a.world, b.world)
		}
		if a.digest == b.digest {
			same++
		}
	}
	t.Logf("%d of %d seeds repeat to the last step", same, at-100)
	if same == 0 {
		t.Error("no seed repeats")
	}
}
