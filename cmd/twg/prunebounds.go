package main

import "github.com/twg-io/twg/sdk/coverage"

// pruneBound is how far one stream may be pruned, and why no further.
type pruneBound struct {
	below int64
	// keeper is the secondary that still needs what lies at below; empty: none.
	keeper string
}

// bounds says how far each stream may be pruned: never above raw's first hole
// as it was when raw was looked at, because what came later was not compared
// with the lanes; and never past what a lane lacks.
func (s *standing) bounds(keepRejected bool) []pruneBound {
	out := make([]pruneBound, len(s.streams))
	for i := range s.streams {
		out[i].below = s.raw[i].FirstHole()
		for _, l := range s.lanes {
			at, lacks := l.firstNeed(i, s.raw[i], keepRejected)
			if lacks && at < out[i].below {
				out[i] = pruneBound{at, l.name}
			}
		}
	}
	return out
}

// firstNeed is the lowest position of a stream that the lane will still be
// sent from raw: what is missing, and what it had refused where a window says
// that it is to be retried, or keepRejected that it may be.
func (l laneStanding) firstNeed(i int, raw *coverage.Set, keepRejected bool) (at int64, lacks bool) {
	s := l.streams[i]
	need := append([]coverage.Interval(nil), s.missing...)
	for _, a := range s.aside {
		if keepRejected {
			need = append(need, raw.HeldWithin(a)...)
			continue
		}
		for _, w := range l.windows {
			if w.RetrySetAside && w.Stream == s.stream {
				need = append(need, raw.HeldWithin(coverage.Interval{From: max(a.From, w.From), Next: min(a.Next, w.Next)})...)
			}
		}
	}
	for _, n := range need {
		if !lacks || n.From < at {
			at, lacks = n.From, true
		}
	}
	return at, lacks
}
