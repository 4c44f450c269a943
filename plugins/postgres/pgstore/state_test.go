package pgstore

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk/coverage"
)

// table is the coverage table's part of one stream, as the statements change
// it: a primary key on from.
type table map[int64]int64

// run does what queue's statements do.
func (tb table) run(t *rapid.T, c *Change) {
	for _, i := range c.deletes {
		if tb[i.From] != i.Next {
			t.Fatalf("deletes %v, which is not there: %v", i, tb)
		}
		delete(tb, i.From)
	}
	for _, u := range c.updates {
		if tb[u.From] != u.Next {
			t.Fatalf("updates %v, which is not there: %v", u, tb)
		}
		tb[u.From] = u.to
	}
	for _, i := range c.inserts {
		if _, there := tb[i.From]; there {
			t.Fatalf("inserts %v over another: %v", i, tb)
		}
		tb[i.From] = i.Next
	}
}

func (tb table) intervals() []coverage.Interval {
	var out []coverage.Interval
	for from, next := range tb {
		out = append(out, coverage.Interval{From: from, Next: next})
	}
	slices.SortFunc(out, func(a, b coverage.Interval) int { return int(a.From - b.From) })
	return out
}

// TestChangesAgainstABitmap: whatever comes in whatever order, the table holds
// exactly what was added, in intervals that are joined.
func TestChangesAgainstABitmap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 40
		var bits [size]bool
		tb := table{}
		st := &State{}
		// What is stored need not be joined: Record and other writers add rows.
		for from := int64(0); from < size; from += 3 {
			if rapid.Bool().Draw(t, "stored") {
				next := min(from+rapid.Int64Range(1, 4).Draw(t, "length"), size)
				tb[from] = next
				for p := from; p < next; p++ {
					bits[p] = true
				}
			}
		}
		st.held = tb.intervals()
		for _, i := range st.held {
			st.set.AddHeld(i)
		}
		for range rapid.IntRange(1, 8).Draw(t, "transactions") {
			add := &coverage.Set{}
			for range rapid.IntRange(0, 3).Draw(t, "spans") {
				from := rapid.Int64Range(0, size-1).Draw(t, "from")
				i := coverage.Interval{From: from, Next: rapid.Int64Range(from, size).Draw(t, "next")}
				add.AddHeld(i)
				for p := i.From; p < i.Next; p++ {
					bits[p] = true
				}
			}
			c := &Change{State: st, Add: add}
			c.plan()
			tb.run(t, c)
			for _, i := range c.written() {
				if tb[i.From] != i.Next {
					t.Fatalf("%v was to be written: %v", i, tb)
				}
			}
			c.Apply()
			compare(t, tb, bits[:], st)
		}
	})
}

func compare(t *rapid.T, tb table, bits []bool, st *State) {
	var want coverage.Set
	for p, held := range bits {
		if held {
			want.AddHeld(coverage.Interval{From: int64(p), Next: int64(p) + 1})
		}
	}
	got := fmt.Sprint(tb.intervals())
	if got != fmt.Sprint(want.Held()) || got != fmt.Sprint(st.held) || got != fmt.Sprint(st.set.Held()) {
		t.Fatalf("stored %s, known %v and %v, want %v", got, st.held, st.set.Held(), want.Held())
	}
}

// The common case, a span that follows what is held, is one update.
func TestAFollowingSpanIsOneUpdate(t *testing.T) {
	st := &State{}
	st.held = []coverage.Interval{{From: 0, Next: 10}, {From: 50, Next: 60}}
	for _, i := range st.held {
		st.set.AddHeld(i)
	}
	add := &coverage.Set{}
	add.AddHeld(coverage.Interval{From: 10, Next: 20})
	c := &Change{State: st, Add: add}
	c.plan()
	if len(c.deletes)+len(c.inserts) != 0 || len(c.updates) != 1 || c.updates[0].to != 20 {
		t.Errorf("%+v", c)
	}
}
