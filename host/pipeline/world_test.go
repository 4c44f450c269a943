package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	steps = flag.Int("steps", 20_000, "steps of the simulated world, at least")
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
