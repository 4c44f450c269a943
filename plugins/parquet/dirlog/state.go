package dirlog

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/twg-io/twg/plugins/parquet/footer"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// state is what the commits say.
type state struct {
	streams map[sdk.Stream]*stream
}

type stream struct {
	set     coverage.Set
	epoch   sdk.Epoch
	owner   string
	cursors []sdk.Cursor // ascending
}

func newState() *state { return &state{streams: map[sdk.Stream]*stream{}} }

// stream returns s's part, adding it if it is new.
func (st *state) stream(s sdk.Stream) *stream {
	p := st.streams[s]
	if p == nil {
		p = &stream{}
		st.streams[s] = p
	}
	return p
}

// peek returns s's part, or an empty one that is not kept.
func (st *state) peek(s sdk.Stream) *stream {
	if p := st.streams[s]; p != nil {
		return p
	}
	return &stream{}
}

// apply adds a commit. An error means that it can not have been written by the
// rules, and leaves st undefined.
func (st *state) apply(f *footer.Footer) error {
	if f.Kind == footer.Checkpoint {
		st.streams = map[sdk.Stream]*stream{}
	}
	if f.Kind == footer.Data || f.Kind == footer.Record {
		if err := st.check(f); err != nil {
			return err
		}
	}
	for _, e := range f.Epochs {
		p := st.stream(e.Stream)
		p.epoch = e.Epoch
		if e.Owner != "" || f.Kind == footer.Acquire {
			p.owner = e.Owner
		}
	}
	for _, s := range f.Spans {
		st.stream(s.Stream).set.AddHeld(s.Interval)
	}
	for _, v := range f.Voids {
		st.stream(v.Stream).set.AddVoid(v.Void)
	}
	st.addCursors(f.Cursors)
	return nil
}

// check is what the writer must have checked before it linked the commit.
func (st *state) check(f *footer.Footer) error {
	for _, e := range f.Epochs {
		if p := st.peek(e.Stream); p.epoch != e.Epoch {
			return fmt.Errorf("it was written under epoch %d of %s, whose epoch was %d then", e.Number, e.Stream, p.epoch.Number)
		}
	}
	for _, s := range f.Spans {
		if held := st.peek(s.Stream).set.HeldWithin(s.Interval); useCoverage && len(held) > 0 {
			return fmt.Errorf("it holds [%d,%d) of %s, which an earlier commit holds too", held[0].From, held[0].Next, s.Stream)
		}
	}
	return nil
}

func (st *state) addCursors(cs []sdk.Cursor) {
	for _, c := range cs {
		p := st.stream(c.Stream)
		p.cursors = append(p.cursors, c)
	}
	for _, c := range cs {
		p := st.stream(c.Stream)
		p.cursors = UsefulCursors(p.cursors, &p.set)
	}
}

// UsefulCursors sorts the cursors of one stream and leaves out those from
// which the coverage leads without a hole to a newer one. What is left is, at
// any frontier, enough to find the newest cursor at or below it.
func UsefulCursors(cs []sdk.Cursor, set *coverage.Set) []sdk.Cursor {
	slices.SortStableFunc(cs, func(a, b sdk.Cursor) int { return cmp.Compare(a.Position, b.Position) })
	out := cs[:0]
	for i, c := range cs {
		if i+1 < len(cs) && set.Covers(coverage.Interval{From: c.Position, Next: cs[i+1].Position}) {
			continue
		}
		out = append(out, c)
	}
	return out
}

// whole is the state as a checkpoint.
func (st *state) whole() *footer.Footer {
	f := &footer.Footer{CommitID: NewCommitID(), Kind: footer.Checkpoint}
	for _, s := range sortedStreams(st.streams) {
		p := st.streams[s]
		for _, i := range p.set.Held() {
			f.Spans = append(f.Spans, footer.Span{Stream: s, Interval: i})
		}
		for _, v := range p.set.Voids() {
			f.Voids = append(f.Voids, footer.Void{Stream: s, Void: v})
		}
		if !p.epoch.IsZero() {
			f.Epochs = append(f.Epochs, footer.Epoch{Stream: s, Epoch: p.epoch, Owner: p.owner})
		}
		f.Cursors = append(f.Cursors, UsefulCursors(slices.Clone(p.cursors), &p.set)...)
	}
	return f
}

func sortedStreams[V any](m map[sdk.Stream]V) []sdk.Stream {
	out := make([]sdk.Stream, 0, len(m))
	for s := range m {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b sdk.Stream) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic),
			cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}
