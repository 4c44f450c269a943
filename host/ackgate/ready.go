package ackgate

import (
	"slices"

	"github.com/twg-io/twg/sdk"
)

// Ready appends, for each run whose frontier has moved, the position that may
// be committed now. A position is given out once; Failed gives it out again.
func (g *Gate) Ready(dst []Committable) []Committable {
	for _, r := range g.order {
		if r.handed != r.frontier {
			r.handed = r.frontier
			dst = append(dst, Committable{r.stream, r.id, r.frontier})
		}
	}
	return dst
}

// Committed notes that the source's server has stored c.
func (g *Gate) Committed(c Committable) {
	if r, ok := g.runs[c.run]; ok {
		r.committed = c.next
	}
}

// Failed notes that c was not stored, so that Ready offers the run again.
func (g *Gate) Failed(c Committable) {
	if r, ok := g.runs[c.run]; ok && r.handed == c.next {
		r.handed = r.committed
	}
}

// Forget ends a run: nothing of it is ever committable again, and its spans no
// longer hold back the batches that they travelled in.
func (g *Gate) Forget(id uint64) {
	r, ok := g.runs[id]
	if !ok {
		return
	}
	delete(g.runs, id)
	g.order = slices.DeleteFunc(g.order, func(o *run) bool { return o == r })
	r.forgotten = true
	for i := r.head; i < len(r.queue); i++ {
		e := &r.queue[i]
		b := e.batch
		b.refs--
		if !e.done {
			b.done()
		}
		if g.batches[b.id] == b {
			g.settle(b)
		}
	}
}

// State of a live run.
type State struct {
	Stream    sdk.Stream
	Run       uint64
	Frontier  int64 // everything below is durable
	Tail      int64 // everything below was tracked
	Committed int64 // sdk.NoPosition: nothing yet
}

// Settled reports whether all that was tracked is durable and committed.
func (s State) Settled() bool { return s.Frontier == s.Tail && s.Committed == s.Frontier }

// Run returns a live run's state.
func (g *Gate) Run(id uint64) (State, bool) {
	r, ok := g.runs[id]
	if !ok {
		return State{}, false
	}
	return r.state(), true
}

// Runs appends the states of all live runs, in the order of their Start.
func (g *Gate) Runs(dst []State) []State {
	for _, r := range g.order {
		dst = append(dst, r.state())
	}
	return dst
}

func (r *run) state() State { return State{r.stream, r.id, r.frontier, r.tail, r.committed} }

// ForRun is the same durable position, to be named in a later run of the same
// stream: a host proves with it that its source still owns the stream.
func (c Committable) ForRun(run uint64) Committable {
	c.run = run
	return c
}
