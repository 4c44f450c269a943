package offsetstore

import (
	"errors"
	"slices"
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func named(incarnation string) sdk.Stream { return sdk.Stream{Topic: "t", Incarnation: incarnation} }

func TestNames(t *testing.T) {
	alias := func(held ...coverage.Interval) *coverage.Set {
		s := set(held...)
		s.AddVoid(AliasVoid())
		return s
	}
	begun := set()
	begun.AddVoid(decidedAtZero())
	type store map[string]*coverage.Set // by incarnation
	for _, c := range []struct {
		name      string
		assigned  string
		committed string
		store     store // nil: the sink keeps none
		want      string
		alias     bool
	}{
		{name: "nothing is known", assigned: "i", store: store{}, want: "i"},
		{name: "known", assigned: "i", store: store{"i": set(iv(0, 9))}, want: "i"},
		{name: "known, and another of no name", assigned: "i", store: store{"i": set(iv(0, 9)), "": set(iv(0, 5))}, want: "i"},
		{name: "the broker names it now", assigned: "i", store: store{"": set(iv(0, 5))}, want: "", alias: true},
		{name: "the broker has named it", assigned: "i", store: store{"i": alias(), "": alias(iv(0, 5))}, want: ""},
		{name: "what had no name is another's", assigned: "i2", store: store{"i": alias(), "": alias(iv(0, 5))}, want: "i2"},
		{name: "the group has read another", assigned: "i2", committed: "i", store: store{"": set(iv(0, 5))}, want: "i2"},
		{name: "the group has read it, and it was cut", assigned: "i", committed: "~1", store: store{"": set(iv(0, 5)), "~1": begun}, want: "~1", alias: true},
		{name: "the group has read it under its name", assigned: "i", committed: "i", store: store{"": set(iv(0, 5))}, want: "i"},
		{name: "no name", store: store{"": set(iv(0, 5))}, want: ""},
		{name: "no name, and it was named by a newer broker", store: store{"": alias(iv(0, 5))}, want: ""},
		{name: "cut", assigned: "i", store: store{"i": set(iv(0, 9)), "i~1": set(iv(4, 7))}, want: "i~1"},
		{name: "cut at 0, nothing read yet", assigned: "i", store: store{"i": set(iv(0, 9)), "i~1": begun}, want: "i~1"},
		{name: "cut three times", assigned: "i", store: store{"i~1": begun, "i~2": begun, "i~3": begun}, want: "i~3"},
		{name: "what was cut has no gap", assigned: "i", store: store{"i~2": begun}, want: "i"},
		{name: "no name, and cut", assigned: "i", store: store{"i": alias(), "": alias(iv(0, 5)), "~1": begun}, want: "~1"},
		{name: "the store knows better than the broker", assigned: "i", committed: "i~4", store: store{"i": set(iv(0, 9))}, want: "i"},
		{name: "no store", assigned: "i", committed: "i", want: "i"},
		{name: "no store, cut", assigned: "i", committed: "i~2", want: "i~2"},
		{name: "no store, cut, and created anew", assigned: "i2", committed: "i~2", want: "i2"},
		{name: "no store, no name", assigned: "i", committed: "", want: "i"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var look Lookup
			if c.store != nil {
				look = func(ask []sdk.Stream) (map[sdk.Stream]*coverage.Set, error) {
					out := map[sdk.Stream]*coverage.Set{}
					for _, s := range ask {
						out[s] = c.store[s.Incarnation]
					}
					return out, nil
				}
			}
			got, err := Names([]sdk.Assignment{{Stream: named(c.assigned), Committed: 3, CommittedIncarnation: c.committed}}, look)
			if err != nil || got[0].Stream != named(c.want) || (len(got[0].Alias) == 2) != c.alias {
				t.Errorf("%+v (%v), want %q, alias %v", got, err, c.want, c.alias)
			}
		})
	}
}

func TestNamesSayWhyTheyAreNotFound(t *testing.T) {
	broken := errors.New("no database")
	for n := range 2 {
		calls := 0
		_, err := Names([]sdk.Assignment{{Stream: named("i")}}, func([]sdk.Stream) (map[sdk.Stream]*coverage.Set, error) {
			if calls++; calls > n {
				return nil, broken
			}
			return nil, nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("call %d failed: %v", n+1, err)
		}
	}
}

func TestSuccessor(t *testing.T) {
	for from, want := range map[string]string{"": "~1", "i": "i~1", "i~1": "i~2", "i~9": "i~10", "a~b": "a~b~1", "i~0": "i~0~1", "~": "~~1"} {
		next := Successor(named(from))
		if next.Incarnation != want {
			t.Errorf("after %q comes %q, want %q", from, next.Incarnation, want)
		}
		if before := Predecessors(next); before[0] != named(from) {
			t.Errorf("before %q was %v, want %q", next.Incarnation, before, from)
		}
	}
}

func TestPredecessors(t *testing.T) {
	for inc, want := range map[string][]sdk.Stream{"": nil, "i": nil, "i~x": nil, "~": nil, "i~3": {named("i~2"), named("i~1"), named("i")}, "~1": {named("")}} {
		if got := Predecessors(named(inc)); !slices.Equal(got, want) {
			t.Errorf("before %q was %v", inc, got)
		}
	}
}

// A stream whose log was cut goes on at the cut, once, whatever was committed
// of the stream before. Where nobody knows the cut it begins anew.
func TestAtCut(t *testing.T) {
	a := sdk.Assignment{Stream: named("i"), Committed: 150, Marked: true}
	for _, at := range []int64{100, 0} {
		for _, cause := range []sdk.GapCause{sdk.GapDiverged, sdk.GapOutOfRange} {
			g := sdk.Gap{Wanted: 150, Available: at, Cause: cause}
			d := AtCut(a, g, set())
			if cause == sdk.GapOutOfRange {
				if d.Resolve == nil || d.Resolve.At != sdk.StartEarliest || d.Resolve.Stream != a.Stream {
					t.Fatalf("the cut is not known: %+v", d)
				}
				d = d.Resolved(at)
			}
			if d.Position != at || d.Void.Empty() || d.Alarm != "" {
				t.Errorf("cut at %d: %+v", at, d)
			}
			known := set()
			known.AddVoid(d.Void)
			known.AddHeld(iv(at, at+7))
			if again := AtCut(a, g, known); again.Position != at+7 || again.Resolve != nil || !again.Void.Empty() {
				t.Errorf("cut at %d, tried again: %+v", at, again)
			}
			for _, committed := range []string{"i", "", "i~2"} {
				a.CommittedIncarnation = committed
				d = Decide(a, named("i~1"), sdk.NoPosition, known)
				if d.Position != at+7 || !d.Void.Empty() || (d.Alarm != "") != (committed == "i~2") {
					t.Errorf("started again, 150 committed under %q: %+v", committed, d)
				}
			}
		}
	}
	if d := AtCut(a, sdk.Gap{Available: 100, Cause: sdk.GapDiverged}, nil); d.Position != 100 || !d.CommitFirst {
		t.Errorf("no store: %+v", d)
	}
	if d := AtCut(a, sdk.Gap{Available: 100, Cause: sdk.GapOutOfRange}, nil); d.Resolve == nil || !d.CommitFirst || !d.Resolved(0).Void.Empty() {
		t.Errorf("no store, and the cut is not known: %+v", d)
	}
}

func TestCursorOf(t *testing.T) {
	seek, gone, cut := set(iv(0, 10)), set(iv(0, 10)), set()
	seek.AddVoid(coverage.Void{Interval: iv(10, 20), Reason: coverage.Seek})
	gone.AddVoid(coverage.Void{Interval: iv(10, 20), Reason: coverage.Retention})
	cut.AddVoid(coverage.Void{Interval: iv(0, 10), Reason: coverage.BeforeStart})
	none := coverage.Void{}
	for _, c := range []struct {
		name       string
		of         string // the stream that has a cursor, i is started
		cursor, at int64
		cov        *coverage.Set
		skipped    coverage.Void
		want       bool
	}{
		{"held", "i~2", 0, 10, set(iv(0, 10)), none, true},
		{"at the start", "i~2", 10, 10, set(iv(0, 10)), none, true},
		{"behind the start", "i~2", 11, 10, set(iv(0, 10)), none, false},
		{"over a seek", "i~2", 5, 20, seek, none, false},
		{"from a seek's end", "i~2", 20, 20, seek, none, true},
		{"before a seek", "i~2", 5, 10, seek, none, true},
		{"over a seek that is now decided", "i~2", 5, 20, set(iv(0, 10)), coverage.Void{Interval: iv(10, 20), Reason: coverage.Seek}, false},
		{"over what retention removed", "i~2", 5, 20, gone, none, true},
		{"of the stream before the cut", "i~1", 30, 10, cut, none, true},
		{"of the one before that", "i", 30, 10, cut, none, true},
		{"of the one before, and something was read since", "i", 5, 12, set(iv(10, 12)), none, false},
		{"of another", "i~3", 5, 10, cut, none, false},
		{"no store", "i", 5, 10, nil, none, false},
	} {
		have := map[sdk.Stream]sdk.Cursor{named(c.of): {Position: c.cursor, Token: []byte("c")}, named("o"): {Token: []byte("o")}}
		if got := CursorOf(named("i~2"), c.at, c.cov, c.skipped, have); (string(got) == "c") != c.want || got != nil && !c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}
