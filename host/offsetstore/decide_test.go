package offsetstore

import (
	"testing"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

func set(held ...coverage.Interval) *coverage.Set {
	s := &coverage.Set{}
	for _, i := range held {
		s.AddHeld(i)
	}
	return s
}

func iv(from, next int64) coverage.Interval { return coverage.Interval{From: from, Next: next} }

func TestDecide(t *testing.T) {
	mine := sdk.Stream{Topic: "t", Incarnation: "i2"}
	at := func(committed int64, inc string, initial sdk.StartAt) sdk.Assignment {
		return sdk.Assignment{Stream: mine, Committed: committed, CommittedIncarnation: inc, Initial: initial}
	}
	voided := set(iv(120, 130))
	voided.AddVoid(coverage.Void{Interval: iv(0, 120), Reason: coverage.BeforeStart})
	for _, c := range []struct {
		name  string
		a     sdk.Assignment
		cov   *coverage.Set
		want  int64 // -1: Resolve
		at    sdk.StartAt
		void  coverage.Interval
		alarm bool
		first bool
	}{
		{name: "no store, committed", a: at(40, "i2", sdk.StartEarliest), want: 40},
		{name: "no store, new group", a: at(-1, "", sdk.StartLatest), want: -1, at: sdk.StartLatest, first: true},
		{name: "no store, topic created again", a: at(40, "i1", sdk.StartLatest), want: -1, at: sdk.StartEarliest, first: true},
		{name: "new group, empty sink", a: at(-1, "", sdk.StartLatest), cov: set(), want: -1, at: sdk.StartLatest},
		{name: "agree", a: at(40, "i2", sdk.StartEarliest), cov: set(iv(0, 40)), want: 40},
		{name: "broker behind", a: at(20, "i2", sdk.StartEarliest), cov: set(iv(0, 40)), want: 40},
		{name: "broker never told", a: at(-1, "", sdk.StartLatest), cov: set(iv(0, 40)), want: 40},
		{name: "broker ahead: sink restored", a: at(90, "i2", sdk.StartEarliest), cov: set(iv(0, 40)), want: 40, alarm: true},
		{name: "broker ahead: sink emptied", a: at(90, "i2", sdk.StartEarliest), cov: set(), want: 0, alarm: true},
		{name: "offset set by hand", a: at(90, "", sdk.StartEarliest), cov: set(iv(0, 40)), want: 90, void: iv(40, 90)},
		{name: "another tool's group, empty sink", a: at(90, "", sdk.StartEarliest), cov: set(), want: 90, void: iv(0, 90)},
		{name: "the first hole, not the maximum", a: at(50, "i2", sdk.StartEarliest), cov: set(iv(0, 50), iv(60, 70)), want: 50},
		{name: "voids count", a: at(125, "i2", sdk.StartEarliest), cov: voided, want: 130},
		{name: "no incarnation, but ours: sink restored", a: sdk.Assignment{Stream: mine, Committed: 90, Marked: true}, cov: set(iv(0, 40)), want: 40, alarm: true},
		{name: "topic created again", a: at(90, "i1", sdk.StartLatest), cov: set(), want: -1, at: sdk.StartEarliest},
		{name: "topic created again, raw has some", a: at(90, "i1", sdk.StartLatest), cov: set(iv(0, 7)), want: 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Decide(c.a, c.a.Stream, sdk.NoPosition, c.cov)
			if (d.Alarm != "") != c.alarm || d.CommitFirst != c.first || d.Void.Interval != c.void {
				t.Errorf("%+v", d)
			}
			if c.want >= 0 && (d.Resolve != nil || d.Position != c.want) {
				t.Errorf("start %d (%+v), want %d", d.Position, d.Resolve, c.want)
			}
			if c.want < 0 && (d.Resolve == nil || d.Resolve.At != c.at) {
				t.Errorf("no question for %v: %+v", c.at, d)
			}
		})
	}
}

// What this host committed itself counts, whatever stood at the source's
// server when the stream was assigned.
func TestDecideKnowsOwnCommits(t *testing.T) {
	a := sdk.Assignment{Stream: sdk.Stream{Topic: "t"}, Committed: sdk.NoPosition, Initial: sdk.StartLatest}
	if d := Decide(a, a.Stream, 90, set()); d.Position != 0 || d.Resolve != nil || d.Alarm == "" || !d.Void.Empty() {
		t.Errorf("sink emptied while running: %+v", d)
	}
	if d := Decide(a, a.Stream, 90, set(iv(0, 90))); d.Position != 90 || d.Alarm != "" {
		t.Errorf("agree: %+v", d)
	}
	if d := Decide(sdk.Assignment{Committed: 95}, sdk.Stream{}, 90, nil); d.Position != 95 {
		t.Errorf("no store, and another host went on meanwhile: %+v", d)
	}
	if d := Decide(a, a.Stream, 90, nil); d.Position != 90 || d.CommitFirst {
		t.Errorf("no store: %+v", d)
	}
}

// Without the void, `latest` would be chosen again after a crash, and what
// lies between the two choices would be lost.
func TestResolvedIsRecorded(t *testing.T) {
	d := Decide(sdk.Assignment{Committed: -1, Initial: sdk.StartLatest}, sdk.Stream{}, sdk.NoPosition, set()).Resolved(100)
	if d.Position != 100 || d.Void.Interval != iv(0, 100) || d.Void.Reason != coverage.BeforeStart {
		t.Errorf("%+v", d)
	}
	if d = Decide(sdk.Assignment{Committed: -1, Initial: sdk.StartEarliest}, sdk.Stream{}, sdk.NoPosition, set()).Resolved(0); !d.Void.Empty() {
		t.Errorf("a void of nothing: %+v", d)
	}
}

// The same where "latest" is the first position: nothing is skipped, but the
// choice must be known to the next start.
func TestLatestOfAnEmptyStreamIsRecorded(t *testing.T) {
	a := sdk.Assignment{Committed: -1, Initial: sdk.StartLatest}
	cov := set()
	d := Decide(a, a.Stream, sdk.NoPosition, cov).Resolved(0)
	if d.Position != 0 || d.Void.Empty() {
		t.Fatalf("%+v", d)
	}
	cov.AddVoid(d.Void)
	if d = Decide(a, a.Stream, sdk.NoPosition, cov); d.Resolve != nil || d.Position != 0 {
		t.Errorf("chosen again: %+v", d)
	}
	cov.AddHeld(iv(0, 7))
	if d = Decide(a, a.Stream, sdk.NoPosition, cov); d.Resolve != nil || d.Position != 7 {
		t.Errorf("after 7 records: %+v", d)
	}
}

func TestGapVoids(t *testing.T) {
	got := GapVoids(set(iv(0, 10), iv(20, 30)), 10, 40)
	if len(got) != 2 || got[0].Interval != iv(10, 20) || got[1].Interval != iv(30, 40) {
		t.Errorf("%v", got)
	}
}

// A record that came once never gets a position that was given before, whatever
// became of the one that had it.
func TestAfterAll(t *testing.T) {
	voided := set(iv(0, 5))
	voided.AddVoid(coverage.Void{Interval: iv(5, 9), Reason: coverage.Retention})
	for _, c := range []struct {
		name string
		cov  *coverage.Set
		want int64
		lost []coverage.Interval
	}{
		{"nothing yet", set(), 0, nil},
		{"whole", set(iv(0, 40)), 40, nil},
		{"holes", set(iv(3, 10), iv(15, 20)), 20, []coverage.Interval{iv(0, 3), iv(10, 15)}},
		{"voids are no holes", voided, 9, nil},
	} {
		d := AfterAll(sdk.Stream{Topic: "t"}, c.cov)
		if d.Position != c.want || d.Resolve != nil || len(d.Lost) != len(c.lost) || (d.Alarm != "") != (len(c.lost) > 0) {
			t.Errorf("%s: %+v", c.name, d)
			continue
		}
		for i, v := range d.Lost {
			if v.Interval != c.lost[i] || v.Reason != coverage.Retention {
				t.Errorf("%s: lost %+v, want %v", c.name, d.Lost, c.lost)
			}
		}
	}
}
