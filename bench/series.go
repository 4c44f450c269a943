package main

import (
	"slices"
	"time"
)

// series is a value over time, ascending.
type series struct {
	times  []time.Time
	values []float64
}

func (s *series) add(t time.Time, v float64) {
	s.times, s.values = append(s.times, t), append(s.values, v)
}

// at is the value at t, on the straight line between the samples around it;
// before the first and after the last sample it is that sample.
func (s series) at(t time.Time) float64 {
	n := len(s.times)
	i, _ := slices.BinarySearchFunc(s.times, t, time.Time.Compare)
	switch {
	case n == 0:
		return 0
	case i == 0:
		return s.values[0]
	case i == n:
		return s.values[n-1]
	}
	share := float64(t.Sub(s.times[i-1])) / float64(s.times[i].Sub(s.times[i-1]))
	return s.values[i-1] + share*(s.values[i]-s.values[i-1])
}

// between are the values from one time to another.
func (s series) between(from, to time.Time) []float64 {
	var vs []float64
	for i, t := range s.times {
		if !t.Before(from) && !t.After(to) {
			vs = append(vs, s.values[i])
		}
	}
	return vs
}

// growth tells a flat curve from a rising one: the median of the last quarter
// of [from, to] less that of the second quarter. The first quarter is left
// out, because a process that starts grows.
func (s series) growth(from, to time.Time) float64 {
	q := to.Sub(from) / 4
	return median(s.between(from.Add(3*q), to)) - median(s.between(from.Add(q), from.Add(2*q)))
}

// median of no values is 0.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	switch {
	case n == 0:
		return 0
	case n%2 == 1:
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}
