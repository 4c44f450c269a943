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

// Decide chooses where stream a starts. own is what this host itself has
// committed since the stream was assigned, which the assignment does not know
// yet, or sdk.NoPosition. cov is raw's coverage, nil if the gating sink keeps
// none.
func Decide(a sdk.Assignment, own int64, cov *coverage.Set) Decision {
	committed, foreign := a.Committed, false
	if known := a.CommittedIncarnation; known != "" && a.Stream.Incarnation != "" && known != a.Stream.Incarnation {
		// The topic was deleted and created again: the offset is another
		// stream's, and the new one is read from its beginning ("latest" would
		// lose what came before the metadata refresh).
		committed, foreign = sdk.NoPosition, true
	}
	if own >= 0 {
		if cov == nil { // nobody rewinds: the higher one is the later one
			own = max(own, committed)
		}
		return decide(a, own, true, false, cov)
	}
	return decide(a, committed, a.CommittedIncarnation != "", foreign, cov)
}

// decide: ours says that twg made the commit, foreign that it was another
// stream's.
func decide(a sdk.Assignment, committed int64, ours, foreign bool, cov *coverage.Set) Decision {
	if cov == nil {
		return withoutStore(a, committed, foreign)
	}
	return withStore(a, committed, ours, foreign, cov)
}

func withoutStore(a sdk.Assignment, committed int64, foreign bool) Decision {
	if committed >= 0 {
		return Decision{Position: committed}
	}
	return Decision{Resolve: initial(a, foreign), CommitFirst: true}
}

func withStore(a sdk.Assignment, committed int64, ours, foreign bool, cov *coverage.Set) Decision {
	hole := cov.FirstHole()
	switch {
	case committed > hole && !ours:
		// Nobody says that twg made this commit: somebody set the offset. It
		// is trusted, and what it skips is void.
		return Decision{Position: committed, Void: coverage.Void{Interval: coverage.Interval{From: hole, Next: committed}, Reason: coverage.Seek}}
	case committed > hole:
		return Decision{Position: hole, Alarm: fmt.Sprintf(
			"the committed position %d of %s is ahead of what the sink holds (%d): the sink was restored, replaced or emptied; reading again from %d",
			committed, a.Stream, hole, hole)}
	case cov.End() > 0 || committed >= 0:
		return Decision{Position: hole}
	}
	return Decision{Resolve: initial(a, foreign)}
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
	case position > 0:
		d.Void = coverage.Void{Interval: coverage.Interval{Next: position}, Reason: coverage.BeforeStart}
	case !earliest:
		// Nothing is skipped, but that it was decided has to be known: after a
		// restart "latest" would be another position, and what lies between is
		// lost. The last position, which no log reaches, stands for it.
		d.Void = coverage.Void{Interval: coverage.Interval{From: sdk.MaxPosition - 1, Next: sdk.MaxPosition}, Reason: coverage.BeforeStart}
	}
	return d
}

// GapVoids are the parts of a gap [wanted, available) that raw lacks.
func GapVoids(cov *coverage.Set, wanted, available int64) []coverage.Void {
	var vs []coverage.Void
	for _, i := range cov.Holes(coverage.Interval{From: wanted, Next: available}) {
		vs = append(vs, coverage.Void{Interval: i, Reason: coverage.Retention})
	}
	return vs
}
