package sink

import (
	"github.com/twg-io/twg/plugins/postgres/pgstore"
	"github.com/twg-io/twg/plugins/postgres/rawtable"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// tx is one transaction: the rows of jobs that are missing, and what the
// streams hold then.
type tx struct {
	jobs    []*job
	rows    rawtable.Rows
	changes map[*pgstore.State]*pgstore.Change
	// refused are the rows that will never be there.
	refused map[*pgstore.State][]sdk.RejectedRow
}

// build cuts what is held already out of the jobs, by position: rows that came
// twice are there once. lost has the claims of spans that the host has sent
// without rows that it takes for held and that are not.
func (l *lane) build(jobs []*job) (t *tx, lost map[pgstore.Claim]string) {
	t = &tx{jobs: jobs, changes: map[*pgstore.State]*pgstore.Change{}, refused: map[*pgstore.State][]sdk.RejectedRow{}}
	lost = map[pgstore.Claim]string{}
	for _, j := range jobs {
		for _, p := range j.parts {
			if reason := t.add(p, l.states[p.claim()]); reason != "" {
				lost[p.claim()] = reason
			}
		}
	}
	return t, lost
}

func (t *tx) add(p *part, st *pgstore.State) (lost string) {
	c := t.changes[st]
	if c == nil {
		c = &pgstore.Change{State: st, Add: &coverage.Set{}}
		t.changes[st] = c
	}
	var missing []coverage.Interval
	for _, m := range st.Missing(coverage.Interval{From: p.span.From, Next: p.span.Next}) {
		missing = append(missing, c.Add.Missing(m)...)
	}
	if reason := p.checkLeft(missing); reason != "" && !st.RowsOnly {
		return reason
	}
	for _, m := range missing {
		for _, r := range p.rows {
			if in := r.within(p.batch, m); in.from < in.to {
				t.rows = append(t.rows, rawtable.Segment{Batch: p.batch, Stream: p.enc, From: in.from, To: in.to})
			}
		}
		c.Add.AddHeld(m)
	}
	c.Cursors = append(c.Cursors, p.cursors...)
	return ""
}

// checkLeft makes sure that the rows that the host has left out are held: the
// span would be claimed without them.
func (p *part) checkLeft(missing []coverage.Interval) string {
	for _, r := range p.left {
		for _, m := range missing {
			if in := r.within(p.batch, m); in.from < in.to {
				return "position " + text(p.batch.Frame.Position(in.from)) + " was left out as held and the database does not hold it: it was restored to an older state, or emptied"
			}
		}
	}
	return ""
}

// refuse takes a row out of what is held.
func (t *tx) refuse(states map[pgstore.Claim]*pgstore.State, r rawtable.Refused) {
	seg, i := t.rows.At(r.Row)
	pos := seg.Batch.Frame.Position(i)
	stream := seg.Batch.Frame.Stream(seg.Batch.Frame.StreamIndex(i))
	for _, s := range seg.Batch.Spans {
		if s.Stream == stream {
			st := states[pgstore.Claim{Stream: stream, Epoch: s.Epoch}]
			t.refused[st] = append(t.refused[st], sdk.RejectedRow{Position: pos, Reason: r.Reason})
		}
	}
}

// list is the changes, without the positions that were refused.
func (t *tx) list() []*pgstore.Change {
	var out []*pgstore.Change
	for st, c := range t.changes {
		if refused := t.refused[st]; len(refused) > 0 {
			c.Add = without(c.Add, refused)
		}
		out = append(out, c)
	}
	return out
}

func without(s *coverage.Set, refused []sdk.RejectedRow) *coverage.Set {
	var gone coverage.Set
	for _, r := range refused {
		gone.AddHeld(coverage.Interval{From: r.Position, Next: r.Position + 1})
	}
	out := &coverage.Set{}
	for _, h := range s.Held() {
		for _, i := range gone.Missing(h) {
			out.AddHeld(i)
		}
	}
	return out
}
