package main

import (
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func sec(s float64) time.Time { return epoch.Add(time.Duration(s * float64(time.Second))) }

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	} {
		if got := median(c.in); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.in, got, c.want)
		}
	}
}

func TestMedianLeavesItsInputAlone(t *testing.T) {
	in := []float64{3, 1, 2}
	median(in)
	if in[0] != 3 || in[1] != 1 || in[2] != 2 {
		t.Errorf("median sorted its input: %v", in)
	}
}

func TestSeriesAt(t *testing.T) {
	var s series
	s.add(sec(1), 10)
	s.add(sec(2), 20)
	s.add(sec(4), 20)
	for _, c := range []struct{ at, want float64 }{
		{0, 10}, {1, 10}, {1.5, 15}, {2, 20}, {3, 20}, {4, 20}, {9, 20},
	} {
		if got := s.at(sec(c.at)); got != c.want {
			t.Errorf("at %vs: %v, want %v", c.at, got, c.want)
		}
	}
	if got := (series{}).at(epoch); got != 0 {
		t.Errorf("empty series: %v, want 0", got)
	}
}

func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		name  string
		value func(second float64) float64
		want  float64
	}{
		{"flat", func(float64) float64 { return 7 }, 0},
		{"rises only at the start", func(s float64) float64 { return min(s, 20) }, 0},
		{"leaks one a second", func(s float64) float64 { return s }, 50},
		{"shrinks", func(s float64) float64 { return -s }, -50},
	} {
		var s series
		for i := range 101 {
			s.add(sec(float64(i)), c.value(float64(i)))
		}
		if got := s.growth(sec(0), sec(100)); got != c.want {
			t.Errorf("%s: growth %v, want %v", c.name, got, c.want)
		}
	}
}
