package coverage

import "sort"

// intervals are sorted, disjoint, not adjacent and not empty.
type intervals []Interval

// add returns the union with i. It may reuse the receiver's memory.
func (s intervals) add(i Interval) intervals {
	if i.Empty() {
		return s
	}
	// [lo, hi) are the intervals that touch i.
	lo := sort.Search(len(s), func(k int) bool { return s[k].Next >= i.From })
	hi := sort.Search(len(s), func(k int) bool { return s[k].From > i.Next })
	if lo == hi {
		s = append(s, Interval{})
		copy(s[lo+1:], s[lo:])
		s[lo] = i
		return s
	}
	s[lo] = Interval{min(s[lo].From, i.From), max(s[hi-1].Next, i.Next)}
	return append(s[:lo+1], s[hi:]...)
}

// within returns the parts of i that s holds.
func (s intervals) within(i Interval) []Interval {
	if i.Empty() {
		return nil
	}
	var out []Interval
	for k := sort.Search(len(s), func(k int) bool { return s[k].Next > i.From }); k < len(s) && s[k].From < i.Next; k++ {
		out = append(out, Interval{max(s[k].From, i.From), min(s[k].Next, i.Next)})
	}
	return out
}

// holes returns the parts of i that s does not hold.
func (s intervals) holes(i Interval) []Interval {
	if i.Empty() {
		return nil
	}
	var out []Interval
	at := i.From
	for _, h := range s.within(i) {
		if h.From > at {
			out = append(out, Interval{at, h.From})
		}
		at = h.Next
	}
	if at < i.Next {
		out = append(out, Interval{at, i.Next})
	}
	return out
}
