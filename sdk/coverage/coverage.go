// Package coverage holds sets of positions of one stream as sorted, disjoint
// intervals: what is held durably, and what is void (will never be
// delivered). A set is small: it grows with holes, not with records.
//
// Coverage is a union: adding merges, it never takes away. A Set is not safe
// for concurrent use.
package coverage

// Interval is the half-open range [From, Next).
type Interval struct{ From, Next int64 }

// Empty reports whether the interval holds no position.
func (i Interval) Empty() bool { return i.Next <= i.From }

// Reason says why positions are void.
type Reason uint8

const (
	BeforeStart Reason = iota + 1
	Seek
	Retention
	Pruned
)

func (r Reason) String() string {
	switch r {
	case BeforeStart:
		return "before_start"
	case Seek:
		return "seek"
	case Retention:
		return "retention"
	case Pruned:
		return "pruned"
	}
	return "unknown"
}

// Void is an interval that will never be delivered.
type Void struct {
	Interval
	Reason Reason
}

// Set is the coverage of one stream in one lane. The zero Set is empty.
type Set struct {
	held intervals
	void []Void // disjoint, sorted; may overlap held
	all  intervals
}

// AddHeld adds positions that are durably there. There are none below 0.
func (s *Set) AddHeld(i Interval) {
	i.From = max(0, i.From)
	s.held = s.held.add(i)
	s.all = s.all.add(i)
}

// AddVoid adds positions that will never be delivered. Where a position is
// void already, the first reason stays.
func (s *Set) AddVoid(v Void) {
	v.From = max(0, v.From)
	if v.Empty() {
		return
	}
	var known intervals
	for _, o := range s.void {
		known = known.add(o.Interval)
	}
	for _, hole := range known.holes(v.Interval) {
		s.void = insertVoid(s.void, Void{hole, v.Reason})
	}
	s.all = s.all.add(v.Interval)
}

// Merge adds everything of o.
func (s *Set) Merge(o *Set) {
	for _, i := range o.held {
		s.AddHeld(i)
	}
	for _, v := range o.void {
		s.AddVoid(v)
	}
}

// Clone returns an independent copy.
func (s *Set) Clone() *Set {
	c := &Set{}
	c.Merge(s)
	return c
}

// Held returns the held intervals, ascending, none empty, no two adjacent. The
// caller must not change them; the next change of the set does.
func (s *Set) Held() []Interval { return s.held }

// Voids returns the void intervals, ascending and disjoint; neighbours of one
// reason are one. A void may also be held. The caller must not change them;
// the next change of the set does.
func (s *Set) Voids() []Void { return s.void }

// FirstHole is the first position that is neither held nor void: where a
// stream resumes.
func (s *Set) FirstHole() int64 {
	if len(s.all) == 0 || s.all[0].From > 0 {
		return 0
	}
	return s.all[0].Next
}

// End is the first position above everything in the set.
func (s *Set) End() int64 {
	if len(s.all) == 0 {
		return 0
	}
	return s.all[len(s.all)-1].Next
}

// HeldWithin returns the parts of i that are held, Holes those that are
// neither held nor void, Missing those that are not held.
func (s *Set) HeldWithin(i Interval) []Interval { return s.held.within(i) }

// Holes returns the parts of i that are neither held nor void.
func (s *Set) Holes(i Interval) []Interval { return s.all.holes(i) }

// Missing returns the parts of i that are not held, void or not.
func (s *Set) Missing(i Interval) []Interval { return s.held.holes(i) }

// Covers reports whether every position of i is held or void.
func (s *Set) Covers(i Interval) bool { return len(s.all.holes(i)) == 0 }

func insertVoid(vs []Void, v Void) []Void {
	at := 0
	for at < len(vs) && vs[at].From < v.From {
		at++
	}
	vs = append(vs, Void{})
	copy(vs[at+1:], vs[at:])
	vs[at] = v
	return mergeVoids(vs)
}

// mergeVoids joins neighbours of one reason.
func mergeVoids(vs []Void) []Void {
	out := vs[:1]
	for _, v := range vs[1:] {
		if last := &out[len(out)-1]; last.Next == v.From && last.Reason == v.Reason {
			last.Next = v.Next
			continue
		}
		out = append(out, v)
	}
	return out
}
