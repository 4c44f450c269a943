package pgstore

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// TestLaneSetAgainstABitmap: whatever is recorded in whatever order, the stored
// rows say of each position what the dumb model says, and are joined.
func TestLaneSetAgainstABitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 30
		var held, aside [size]bool
		var void [size]string
		stored := map[interval]bool{{reason: "of a later version", Interval: coverage.Interval{From: 25, Next: 28}}: true}
		for p := 25; p < 28; p++ {
			void[p] = "of a later version"
		}
		draw := func() coverage.Interval {
			from := rapid.Int64Range(0, size-1).Draw(t, "from")
			return coverage.Interval{From: from, Next: rapid.Int64Range(from, size).Draw(t, "next")}
		}
		for range rapid.IntRange(1, 8).Draw(t, "records") {
			l := newLaneSet()
			for i := range stored {
				l.load(i)
			}
			var r sdk.CoverageRecord
			for range rapid.IntRange(0, 2).Draw(t, "held") {
				r.Held = append(r.Held, draw())
			}
			for range rapid.IntRange(0, 2).Draw(t, "void") {
				r.Void = append(r.Void, coverage.Void{Interval: draw(), Reason: rapid.SampledFrom([]coverage.Reason{coverage.Seek, coverage.Retention}).Draw(t, "why")})
			}
			for range rapid.IntRange(0, 2).Draw(t, "aside") {
				r.SetAside = append(r.SetAside, draw())
			}
			l.add(r)
			apply(r, held[:], aside[:], void[:])
			change(t, stored, l)
			compareLane(t, stored, held[:], aside[:], void[:])
		}
	})
}

// apply is the model.
func apply(r sdk.CoverageRecord, held, aside []bool, void []string) {
	for _, i := range r.Held {
		for p := i.From; p < i.Next; p++ {
			held[p] = true
		}
	}
	for _, v := range r.Void {
		for p := v.From; p < v.Next; p++ {
			if !held[p] && void[p] == "" {
				void[p] = v.Reason.String()
			}
		}
	}
	for _, i := range r.SetAside {
		for p := i.From; p < i.Next; p++ {
			aside[p] = true
		}
	}
	for p := range held {
		aside[p] = aside[p] && !held[p]
	}
}

// change does what queueLane's statements do.
func change(t *rapid.T, stored map[interval]bool, l *laneSet) {
	gone, put := l.changes(streamID{})
	for _, g := range gone {
		if !stored[g] {
			t.Fatalf("deletes %v, which is not there", g)
		}
		delete(stored, g)
	}
	for _, p := range put {
		for s := range stored {
			if s.reason == p.reason && s.From == p.From {
				delete(stored, s)
			}
		}
		stored[p] = true
	}
}

func compareLane(t *rapid.T, stored map[interval]bool, held, aside []bool, void []string) {
	want := map[string]*coverage.Set{}
	n := 0
	say := func(p int, reason string) {
		if want[reason] == nil {
			want[reason] = &coverage.Set{}
		}
		want[reason].AddHeld(coverage.Interval{From: int64(p), Next: int64(p) + 1})
	}
	for p := range held {
		if held[p] {
			say(p, "")
		}
		if aside[p] {
			say(p, setAside)
		}
		if void[p] != "" {
			say(p, void[p])
		}
	}
	for reason, set := range want {
		for _, i := range set.Held() {
			n++
			if !stored[interval{reason: reason, Interval: i}] {
				t.Fatalf("%q has no row %v: %s", reason, i, fmt.Sprint(stored))
			}
		}
	}
	if n != len(stored) {
		t.Fatalf("%d rows are stored, want %d: %v", len(stored), n, stored)
	}
}

// TestWhatACompletionLeaves against a bitmap.
func TestWhatACompletionLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 24
		w := sdk.Window{From: 4, Next: 20}
		var done, gone [size]bool
		var c sdk.WindowCompletion
		draw := func(bits []bool) coverage.Interval {
			from := rapid.Int64Range(0, size-1).Draw(t, "from")
			i := coverage.Interval{From: from, Next: rapid.Int64Range(from, size).Draw(t, "next")}
			for p := i.From; p < i.Next; p++ {
				bits[p] = true
			}
			return i
		}
		for range rapid.IntRange(0, 3).Draw(t, "done") {
			c.Done = append(c.Done, draw(done[:]))
		}
		for range rapid.IntRange(0, 2).Draw(t, "lost") {
			c.Unrecoverable = append(c.Unrecoverable, draw(gone[:]))
		}
		open, lost := remains(w, c)
		var isOpen, isLost [size]int
		for _, i := range open {
			if done[i.From] || done[i.Next-1] {
				t.Fatalf("%v is no hull", i)
			}
			for p := i.From; p < i.Next; p++ {
				isOpen[p]++
			}
		}
		for _, i := range lost {
			for p := i.From; p < i.Next; p++ {
				isLost[p]++
			}
		}
		for p := range size {
			in := int64(p) >= w.From && int64(p) < w.Next
			wantLost := in && gone[p] && !done[p]
			wantOpen := in && !gone[p] && !done[p]
			if (isLost[p] == 1) != wantLost || wantOpen && isOpen[p] != 1 || isOpen[p]+isLost[p] > 1 || !in && isOpen[p] > 0 {
				t.Fatalf("position %d: open %d, lost %d; done %v, gone %v", p, isOpen[p], isLost[p], done[p], gone[p])
			}
		}
	})
}
