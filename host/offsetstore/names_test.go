package offsetstore

import (
	"errors"
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
			if err != nil || got[0].Stream != named(c.want) || got[0].Alias != c.alias {
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
		if got := Successor(named(from)).Incarnation; got != want {
			t.Errorf("after %q comes %q, want %q", from, got, want)
		}
	}
}

// A stream whose log was cut goes on at the cut, once, whatever was committed
// of the stream before.
func TestAtCut(t *testing.T) {
	cov := set()
	for _, at := range []int64{100, 0} {
		d := AtCut(at, cov)
		if d.Position != at || d.Void.Empty() || d.Alarm != "" {
			t.Errorf("cut at %d: %+v", at, d)
		}
		known := set()
		known.AddVoid(d.Void)
		known.AddHeld(iv(at, at+7))
		if again := AtCut(at, known); again.Position != at+7 || !again.Void.Empty() {
			t.Errorf("cut at %d, tried again: %+v", at, again)
		}
		for _, committed := range []string{"i", "", "i~2"} {
			d = Decide(sdk.Assignment{Stream: named("i"), Committed: 150, CommittedIncarnation: committed, Marked: true}, named("i~1"), sdk.NoPosition, known)
			if d.Position != at+7 || !d.Void.Empty() || (d.Alarm != "") != (committed == "i~2") {
				t.Errorf("started again, 150 committed under %q: %+v", committed, d)
			}
		}
	}
	if d := AtCut(100, nil); d.Position != 100 || !d.CommitFirst {
		t.Errorf("no store: %+v", d)
	}
}

func TestResumes(t *testing.T) {
	seek, gone := set(iv(0, 10)), set(iv(0, 10))
	seek.AddVoid(coverage.Void{Interval: iv(10, 20), Reason: coverage.Seek})
	gone.AddVoid(coverage.Void{Interval: iv(10, 20), Reason: coverage.Retention})
	none := coverage.Void{}
	for _, c := range []struct {
		name       string
		cursor, at int64
		cov        *coverage.Set
		skipped    coverage.Void
		want       bool
	}{
		{"held", 0, 10, set(iv(0, 10)), none, true},
		{"at the start", 10, 10, set(iv(0, 10)), none, true},
		{"behind the start", 11, 10, set(iv(0, 10)), none, false},
		{"over a seek", 5, 20, seek, none, false},
		{"from a seek's end", 20, 20, seek, none, true},
		{"before a seek", 5, 10, seek, none, true},
		{"over a seek that is now decided", 5, 20, set(iv(0, 10)), coverage.Void{Interval: iv(10, 20), Reason: coverage.Seek}, false},
		{"over what retention removed", 5, 20, gone, none, true},
	} {
		if got := Resumes(c.cursor, c.at, c.cov, c.skipped); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
