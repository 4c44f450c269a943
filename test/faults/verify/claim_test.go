package verify

import (
	"slices"
	"testing"
)

func TestEarly(t *testing.T) {
	real := []Place{{0, 0}, {0, 1}, {0, 5}, {1, 0}}
	seen := FirstSeen{{0, 0}: 1, {0, 1}: 1, {0, 5}: 2}
	claim := func(p int32, from, next int64, files int) Claim { return Claim{Span{p, from, next, ""}, files} }
	cases := []struct {
		name   string
		claims []Claim
		want   int
	}{
		{"nothing", nil, 0},
		{"in time", []Claim{claim(0, 0, 5, 1), claim(0, 5, 9, 2)}, 0},
		{"a file too early", []Claim{claim(0, 0, 6, 1)}, 1},
		{"before all", []Claim{claim(0, 0, 6, 0)}, 3},
		{"in no file", []Claim{claim(1, 0, 1, 9)}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Early(c.claims, seen, real); got.Count != c.want {
				t.Errorf("%d findings %v, want %d", got.Count, got.First, c.want)
			}
		})
	}
}

func TestBeyond(t *testing.T) {
	s := func(p int32, from, next int64) Span { return Span{p, from, next, ""} }
	known := []Span{s(0, 2, 4), s(0, 4, 5), s(0, 8, 9), s(1, 0, 9)}
	got := Beyond([]Span{s(0, 0, 3), s(0, 3, 10), s(1, 3, 4), s(2, 0, 1)}, known)
	if want := []Span{s(0, 0, 2), s(0, 5, 8), s(0, 9, 10), s(2, 0, 1)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Beyond([]Span{s(0, 3, 5)}, known); got != nil {
		t.Errorf("%v, want nothing", got)
	}
}
