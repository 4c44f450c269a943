package coverage

import (
	"math"
	"reflect"
	"testing"
)

func TestResumeAtFirstHole(t *testing.T) {
	for name, c := range map[string]struct {
		held []Interval
		void []Void
		want int64
	}{
		"nothing":                       {nil, nil, 0},
		"from 0":                        {[]Interval{{0, 5}}, nil, 5},
		"hole at 0":                     {[]Interval{{1, 5}}, nil, 0},
		"adjacent":                      {[]Interval{{0, 5}, {5, 9}}, nil, 9},
		"out of order":                  {[]Interval{{5, 9}, {0, 5}}, nil, 9},
		"hole inside":                   {[]Interval{{0, 5}, {6, 9}}, nil, 5},
		"void before the start":         {[]Interval{{100, 120}}, []Void{{Interval{0, 100}, BeforeStart}}, 120},
		"void in the hole":              {[]Interval{{0, 5}, {6, 9}}, []Void{{Interval{5, 6}, Retention}}, 9},
		"void in a part of the hole":    {[]Interval{{0, 5}, {8, 9}}, []Void{{Interval{5, 7}, Retention}}, 7},
		"empty intervals count nothing": {[]Interval{{0, 0}, {3, 1}}, []Void{{Interval{0, 0}, Seek}}, 0},
		"up to the last position":       {[]Interval{{0, math.MaxInt64}}, nil, math.MaxInt64},
		"below 0":                       {[]Interval{{math.MinInt64, -5}}, nil, 0},
		"from below 0":                  {[]Interval{{-9, 3}}, nil, 3},
	} {
		var s Set
		for _, i := range c.held {
			s.AddHeld(i)
		}
		for _, v := range c.void {
			s.AddVoid(v)
		}
		if got := s.FirstHole(); got != c.want {
			t.Errorf("%s: resumes at %d, want %d", name, got, c.want)
		}
	}
}

func TestFirstReasonStays(t *testing.T) {
	var s Set
	s.AddVoid(Void{Interval{2, 4}, Seek})
	s.AddVoid(Void{Interval{0, 6}, Retention})
	s.AddVoid(Void{Interval{6, 8}, Retention})
	want := []Void{{Interval{0, 2}, Retention}, {Interval{2, 4}, Seek}, {Interval{4, 8}, Retention}}
	if !reflect.DeepEqual(s.Voids(), want) {
		t.Errorf("voids %v, want %v", s.Voids(), want)
	}
}

func TestNothingLiesInAnEmptyInterval(t *testing.T) {
	var s Set
	s.AddHeld(Interval{0, 10})
	for _, i := range []Interval{{5, 5}, {7, 3}} {
		if s.HeldWithin(i) != nil || s.Holes(i) != nil || s.Missing(i) != nil || !s.Covers(i) {
			t.Errorf("something lies in %v: %v", i, s.HeldWithin(i))
		}
	}
}

func TestReasonsHaveNames(t *testing.T) {
	for r, want := range map[Reason]string{BeforeStart: "before_start", Seek: "seek", Retention: "retention", Pruned: "pruned", 9: "unknown"} {
		if r.String() != want {
			t.Errorf("reason %d is %s", r, r)
		}
	}
}

// FuzzSet takes any 64-bit intervals, as a decoder may hand them in, and
// checks what must hold of every set.
func FuzzSet(f *testing.F) {
	f.Add(int64(0), int64(5), int64(5), int64(9), int64(3), int64(7))
	f.Add(int64(math.MinInt64), int64(math.MaxInt64), int64(-1), int64(1), int64(0), int64(0))
	f.Add(int64(-74), int64(5), int64(5), int64(9), int64(3), int64(-36))
	f.Add(int64(9), int64(3), int64(math.MaxInt64), int64(math.MinInt64), int64(1), int64(2))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g int64) {
		var s Set
		s.AddHeld(Interval{a, b})
		s.AddVoid(Void{Interval{c, d}, Seek})
		s.AddHeld(Interval{e, g})
		s.AddVoid(Void{Interval{a, g}, Pruned})
		for _, i := range []Interval{{a, b}, {c, d}, {e, g}, {a, g}} {
			if i.From = max(0, i.From); !s.Covers(i) {
				t.Errorf("%v was added and is not covered", i)
			}
		}
		held, voids := s.Held(), s.Voids()
		for k, h := range held {
			if h.Empty() || k > 0 && h.From <= held[k-1].Next {
				t.Errorf("held %v", held)
			}
		}
		for k, v := range voids {
			if v.Empty() || k > 0 && v.From < voids[k-1].Next {
				t.Errorf("voids %v", voids)
			}
		}
		if f := s.FirstHole(); f < 0 || f > s.End() || f < math.MaxInt64 && s.Covers(Interval{f, f + 1}) {
			t.Errorf("first hole %d, end %d", f, s.End())
		}
	})
}
