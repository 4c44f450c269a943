package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/twg-io/twg/test/faults/schedule"
)

// tally counts what was killed where.
type tally struct {
	points    []schedule.Point
	kills     int
	at        map[schedule.Point]int
	elsewhere map[schedule.Point]int
	pairs     int
	provoked  int
	zombies   int
	frozen    int
	rivals    int
	leases    int // hosts that slept until another had their window
	unseen    int // hosts whose window another was done with before they woke
	noWork    int // hosts that were to sleep and had no window in time
	jumps     int
	rebuilt   time.Duration                     // from the last commit until nothing was missing in a secondary
	takeOvers []time.Duration                   // of sinks that stood still in a COPY
	replaced  int                               // of those, what its host ended before it woke
	pauses    map[schedule.Role][]time.Duration // from a kill until commits moved on
}

func newTally(points []schedule.Point) *tally {
	return &tally{points: points, at: map[schedule.Point]int{}, elsewhere: map[schedule.Point]int{}, pauses: map[schedule.Role][]time.Duration{}}
}

func (t *tally) add(k schedule.Kill, exact bool) {
	t.kills++
	if k.Also != "" {
		t.pairs++
	}
	if exact {
		t.at[k.Point]++
	} else {
		t.elsewhere[k.Point]++
	}
}

func (t *tally) tookOver(d time.Duration) { t.takeOvers = append(t.takeOvers, d) }

func (t *tally) recovered(r schedule.Role, d time.Duration) { t.pauses[r] = append(t.pauses[r], d) }

// print writes the histogram, a line a point, a mark a kill.
func (t *tally) print(w io.Writer) {
	fmt.Fprintln(w, "kills by role and point (# at the point, ? elsewhere: the point was not reached in time)")
	for _, p := range t.points {
		fmt.Fprintf(w, "  %-9s %-17s %3d  %s%s\n", p.Role, p.Name, t.at[p]+t.elsewhere[p],
			strings.Repeat("#", t.at[p]), strings.Repeat("?", t.elsewhere[p]))
	}
	fmt.Fprintf(w, "  %d of these took a second process with them; %d further kills only provoked a start\n", t.pairs, t.provoked)
	fmt.Fprintf(w, "  %d hosts were put to sleep, replaced and woken; %d plugins were frozen\n", t.zombies, t.frozen)
	if t.leases+t.unseen+t.noWork+t.jumps > 0 {
		fmt.Fprintf(w, "  %d hosts slept and woke while another had their window, %d when it was done with it, %d had none; the clock of the leases jumped %d times\n",
			t.leases, t.unseen, t.noWork, t.jumps)
	}
	if t.rivals > 0 {
		fmt.Fprintf(w, "  %d rivals took over from a host that ran\n", t.rivals)
	}
	if len(t.takeOvers) > 0 {
		fmt.Fprintf(w, "  %d of the sleepers were in the middle of a COPY; their successors committed after %.1f s at most; %d were replaced before they woke\n",
			len(t.takeOvers), slices.Max(t.takeOvers).Seconds(), t.replaced)
	}
	for _, role := range append([]schedule.Role{schedule.Source, schedule.Host, schedule.Sink, schedule.Broker, schedule.Database}, rawFirstOrder...) {
		if d := t.pauses[role]; len(d) > 0 {
			slices.Sort(d)
			fmt.Fprintf(w, "  from a kill of a %s to the next commit: median %.1f s, longest %.1f s\n", role, d[len(d)/2].Seconds(), d[len(d)-1].Seconds())
		}
	}
}
