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
	pauses    []time.Duration // from a kill until commits moved on
}

func newTally(points []schedule.Point) *tally {
	return &tally{points: points, at: map[schedule.Point]int{}, elsewhere: map[schedule.Point]int{}}
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

func (t *tally) recovered(d time.Duration) { t.pauses = append(t.pauses, d) }

// print writes the histogram, a line a point, a mark a kill.
func (t *tally) print(w io.Writer) {
	fmt.Fprintln(w, "kills by role and point (# at the point, ? elsewhere: the point was not reached in time)")
	for _, p := range t.points {
		fmt.Fprintf(w, "  %-7s %-10s %3d  %s%s\n", p.Role, p.Name, t.at[p]+t.elsewhere[p],
			strings.Repeat("#", t.at[p]), strings.Repeat("?", t.elsewhere[p]))
	}
	fmt.Fprintf(w, "  %d of these took a second process with them; %d further kills only provoked a start\n", t.pairs, t.provoked)
	fmt.Fprintf(w, "  %d hosts were put to sleep, replaced and woken; %d plugins were frozen\n", t.zombies, t.frozen)
	if len(t.pauses) == 0 {
		return
	}
	slices.Sort(t.pauses)
	fmt.Fprintf(w, "  from a kill to the next commit: median %.1f s, longest %.1f s\n",
		t.pauses[len(t.pauses)/2].Seconds(), t.pauses[len(t.pauses)-1].Seconds())
}
