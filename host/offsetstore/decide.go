// Package offsetstore holds the rules about positions that two places know:
// the source's own server and the gating sink's store. The semantics are the
// host's, the storage is the sink's. The rules and the loss that each prevents
// stand in docs/storage.md.
package offsetstore

import (
	"fmt"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// Decision is where a stream's run begins.
type Decision struct {
	// Position is where to start, unless Resolve asks the source first; then
	// Resolved turns its answer into the final decision.
	Position int64
	Resolve  *sdk.Query
	cut      bool // it is to be known that there was one
	// Void, if not empty, must be durable under the stream's epoch before
	// Start. It never overlaps what raw holds.
	Void coverage.Void
	// Lost are holes that no source can fill any more. They must be durable
	// before Start, as Void.
	Lost []coverage.Void
	// Alarm is a lead or another state that a person should know of.
	Alarm string
	// CommitFirst: there is no store, so the position itself must be committed
	// to the broker before Start, or a crash could choose again.
	CommitFirst bool
}

// Decide chooses where assigned stream a starts, which the store calls name.
// own is what this host itself has committed since the stream was assigned,
// which the assignment does not know yet, or sdk.NoPosition. cov is raw's
// coverage, nil if the gating sink keeps none.
func Decide(a sdk.Assignment, name sdk.Stream, own int64, cov *coverage.Set) Decision {
	c := committed{at: a.Committed, ours: a.Marked || a.CommittedIncarnation != ""}
	if ofAnother(a, name) {
		// The topic was deleted and created again, or its log was cut: the
		// offset is another stream's, and the new one is read from its beginning
		// ("latest" would lose what came before the metadata refresh).
		c = committed{at: sdk.NoPosition, foreign: true}
	}
	if own >= 0 {
		if cov == nil { // nobody rewinds: the higher one is the later one
			own = max(own, c.at)
		}
		c = committed{at: own, ours: true}
	}
	if cov == nil {
		return withoutStore(a, c)
	}
	d := withStore(a, name, c, cov)
	if _, known := split(a.CommittedIncarnation); own < 0 && d.Alarm == "" && a.Committed >= 0 && known > cuts(name) {
		d.Alarm = fmt.Sprintf("position %d of %s was committed under incarnation %q, which the sink does not know: it was restored or replaced; reading again from %d",
			a.Committed, name, a.CommittedIncarnation, d.Position)
	}
	return d
}

// committed is what the source's server holds: ours says that twg made the
// commit, foreign that it was another stream's.
type committed struct {
	at            int64
	ours, foreign bool
}

// ofAnother reports whether the committed position is another stream's. An
// incarnation that is not known matches any.
func ofAnother(a sdk.Assignment, name sdk.Stream) bool {
	base, n := split(a.CommittedIncarnation)
	if base != "" && a.Stream.Incarnation != "" && base != a.Stream.Incarnation {
		return true
	}
	return a.Committed >= 0 && n != cuts(name)
}

func cuts(s sdk.Stream) int {
	_, n := split(s.Incarnation)
	return n
}

func withoutStore(a sdk.Assignment, c committed) Decision {
	if c.at >= 0 {
		return Decision{Position: c.at}
	}
	return Decision{Resolve: initial(a, c.foreign), CommitFirst: true}
}

func withStore(a sdk.Assignment, name sdk.Stream, c committed, cov *coverage.Set) Decision {
	hole := cov.FirstHole()
	switch {
	case c.at > hole && !c.ours:
		// Nobody says that twg made this commit: somebody set the offset. It
		// is trusted, and what it skips is void.
		return Decision{Position: c.at, Void: coverage.Void{Interval: coverage.Interval{From: hole, Next: c.at}, Reason: coverage.Seek}}
	case c.at > hole:
		return Decision{Position: hole, Alarm: fmt.Sprintf(
			"the committed position %d of %s is ahead of what the sink holds (%d): the sink was restored, replaced or emptied; reading again from %d",
			c.at, name, hole, hole)}
	case cov.End() > 0 || c.at >= 0:
		return Decision{Position: hole}
	}
	return Decision{Resolve: initial(a, c.foreign)}
}

// AfterAll chooses where a stream starts whose records come once only: above
// everything that raw holds. A position in a hole would be given to another
// record, and one that raw holds would be taken for a repetition. The holes are
// records that were on their way when somebody died, and cannot be had again.
func AfterAll(s sdk.Stream, cov *coverage.Set) Decision {
	d := Decision{Position: cov.End(), Lost: GapVoids(cov, 0, cov.End())}
	if len(d.Lost) > 0 {
		d.Alarm = fmt.Sprintf("positions [%d,%d) of %s, and perhaps more below %d, were on their way when the source, the sink or the host ended, and cannot be had again",
			d.Lost[0].From, d.Lost[0].Next, s, d.Position)
	}
	return d
}

// initial is the query for a stream that nobody has a position of.
func initial(a sdk.Assignment, foreign bool) *sdk.Query {
	q := &sdk.Query{Stream: a.Stream, At: a.Initial, TimestampMS: a.TimestampMS}
	if foreign {
		q.At = sdk.StartEarliest
	}
	return q
}

// Resolved completes a decision with the position that the source found.
func (d Decision) Resolved(position int64) Decision {
	earliest := d.Resolve.At == sdk.StartEarliest
	d.Position, d.Resolve = position, nil
	switch {
	case d.CommitFirst:
	case position > 0, d.cut:
		d.Void = begins(position)
	case !earliest:
		// Nothing is skipped, but that it was decided has to be known: after a
		// restart "latest" would be another position, and what lies between is
		// lost.
		d.Void = decidedAtZero()
	}
	return d
}

// decidedAtZero says that a start was decided at position 0. The last position,
// which no log reaches, stands for it.
func decidedAtZero() coverage.Void {
	return coverage.Void{Interval: coverage.Interval{From: sdk.MaxPosition - 1, Next: sdk.MaxPosition}, Reason: coverage.BeforeStart}
}

// AtCut is where the successor of a stream whose log was cut starts: at the
// cut, since what lies below belongs to the stream before. Where the source only
// knows that the log is another one, everything that it has now is read. A void
// makes the successor known to the next start.
func AtCut(a sdk.Assignment, g sdk.Gap, cov *coverage.Set) Decision {
	switch {
	case isKnown(cov): // decided already
		return Decision{Position: cov.FirstHole()}
	case g.Cause != sdk.GapDiverged:
		return Decision{Resolve: &sdk.Query{Stream: a.Stream, At: sdk.StartEarliest}, CommitFirst: cov == nil, cut: cov != nil}
	case cov == nil:
		return Decision{Position: g.Available, CommitFirst: true}
	}
	return Decision{Position: g.Available, Void: begins(g.Available)}
}

// begins says that a stream begins at a position.
func begins(position int64) coverage.Void {
	if position == 0 {
		return decidedAtZero()
	}
	return coverage.Void{Interval: coverage.Interval{Next: position}, Reason: coverage.BeforeStart}
}

// CursorOf is the cursor to give to a start of a stream at a position, of those
// that the store has. A stream that has gone on behind a cut and holds nothing
// yet is given the one of the last stream before it that has one: the source
// knows by it what is below the cut.
func CursorOf(name sdk.Stream, position int64, cov *coverage.Set, skipped coverage.Void, have map[sdk.Stream]sdk.Cursor) []byte {
	if c, ok := have[name]; ok {
		if resumes(c.Position, position, cov, skipped) {
			return c.Token
		}
		return nil
	}
	if cov == nil || len(cov.Held()) > 0 {
		return nil
	}
	for _, before := range Predecessors(name) {
		if c, ok := have[before]; ok {
			return c.Token
		}
	}
	return nil
}

// resumes reports whether a cursor may be given to a start at a position: what
// lies between was read, or is gone at the source, and was not skipped by a
// seek, behind which the source has never looked.
func resumes(cursor, position int64, cov *coverage.Set, skipped coverage.Void) bool {
	for _, v := range append([]coverage.Void{skipped}, cov.Voids()...) {
		if v.Reason == coverage.Seek && v.From < position && v.Next > cursor {
			return false
		}
	}
	return cursor <= position
}

// GapVoids are the parts of a gap [wanted, available) that raw lacks.
func GapVoids(cov *coverage.Set, wanted, available int64) []coverage.Void {
	var vs []coverage.Void
	for _, i := range cov.Holes(coverage.Interval{From: wanted, Next: available}) {
		vs = append(vs, coverage.Void{Interval: i, Reason: coverage.Retention})
	}
	return vs
}
