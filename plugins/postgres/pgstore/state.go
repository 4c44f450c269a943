package pgstore

import (
	"slices"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// State is what one session knows of a stream whose epoch it writes under. It
// stays true as long as the epoch is current and nobody else writes under it;
// that is checked in every transaction.
type State struct {
	Stream sdk.Stream
	Epoch  sdk.Epoch

	// RowsOnly: the stream has no epoch, so this sink is not the one that gates
	// it. Its rows are written, and nothing is noted about them.
	RowsOnly bool

	id    streamID
	floor int64               // the raw floor when the stream was claimed
	held  []coverage.Interval // as they are stored, with what was pruned since
	set   coverage.Set
}

// Missing returns the parts of i that are to be written: they are not held, and
// were not pruned.
func (s *State) Missing(i coverage.Interval) []coverage.Interval {
	i.From = max(i.From, s.floor)
	return s.set.Missing(i)
}

// Change is what one transaction does to a stream's coverage and cursors.
type Change struct {
	State   *State
	Add     *coverage.Set // held from this transaction on; nil: nothing
	Cursors []sdk.Cursor

	after   []coverage.Interval // all that is held then
	deletes []coverage.Interval
	updates []update
	inserts []coverage.Interval
}

// update is a stored interval that grows to a new end.
type update struct {
	coverage.Interval
	to int64
}

// plan finds the statements that turn what is stored into the union. A stored
// interval that begins where one of the union does grows; that is the common
// case, one update.
func (c *Change) plan() {
	all := c.State.set.Clone()
	if c.Add != nil {
		all.Merge(c.Add)
	}
	c.after = slices.Clone(all.Held())
	c.deletes, c.updates, c.inserts = nil, nil, nil
	for _, h := range c.after {
		c.planOne(h)
	}
}

func (c *Change) planOne(h coverage.Interval) {
	stored := slices.IndexFunc(c.State.held, func(i coverage.Interval) bool { return i.From == h.From })
	for k, i := range c.State.held {
		switch {
		case i.From < h.From || i.Next > h.Next:
		case k != stored:
			c.deletes = append(c.deletes, i)
		case i.Next != h.Next:
			c.updates = append(c.updates, update{i, h.Next})
		}
	}
	if stored < 0 {
		c.inserts = append(c.inserts, h)
	}
}

// written are the intervals that must be stored once the change is made.
func (c *Change) written() []coverage.Interval {
	out := slices.Clone(c.inserts)
	for _, u := range c.updates {
		out = append(out, coverage.Interval{From: u.From, Next: u.to})
	}
	return out
}

// Apply notes that the change was committed.
func (c *Change) Apply() {
	c.State.held = c.after
	for _, i := range c.after {
		c.State.set.AddHeld(i)
	}
}
