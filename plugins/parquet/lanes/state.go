package lanes

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// key names a lane's part in a stream.
type key struct {
	lane   string
	stream sdk.Stream
}

// state is what the commits add up to. It is guarded by the log's lock.
type state struct {
	begun   bool // nextID is of a commit
	nextID  uint64
	parts   map[key]*part
	windows map[uint64]*sdk.RecoveryWindow
}

type part struct {
	set   coverage.Set
	aside coverage.Set // its held intervals; those that set has too do not count
	floor int64
}

func newState() *state {
	return &state{nextID: firstID(), parts: map[key]*part{}, windows: map[uint64]*sdk.RecoveryWindow{}}
}

// part returns k's part, or an empty one that is not kept.
func (st *state) part(k key) *part {
	if p := st.parts[k]; p != nil {
		return p
	}
	return &part{}
}

// unresolved are the parts of i that are neither held nor void nor set aside.
func (p *part) unresolved(i coverage.Interval) (out []coverage.Interval) {
	for _, h := range p.set.Holes(i) {
		out = append(out, p.aside.Missing(h)...)
	}
	return out
}

// setAside is what is set aside and not held.
func (p *part) setAside() (out []coverage.Interval) {
	for _, a := range p.aside.Held() {
		out = append(out, p.set.Missing(a)...)
	}
	return out
}

// holder is linklog's view of the state.
type holder struct{ *state }

func (holder) Suffix() string                              { return suffix }
func (holder) Read(r io.ReaderAt, n int64) (*entry, error) { return decode(r, n) }
func (holder) Write(w io.Writer, e *entry) error           { return encode(w, e) }
func (holder) ID(e *entry) [16]byte                        { return e.id }
func (holder) IsCheckpoint(e *entry) bool                  { return e.checkpoint }
func (h holder) Reset()                                    { *h.state = *newState() }
func (h holder) Whole() *entry                             { return h.whole() }

func (holder) Repair() string {
	return "or stop every host that uses the directory and remove it: windows and what the secondaries are known to hold are then forgotten, and recovery delivers to them again what raw holds"
}

// Apply adds a commit.
func (h holder) Apply(e *entry) error {
	st := h.state
	if e.checkpoint {
		*st = *newState()
	}
	if st.begun && e.nextID < st.nextID {
		return fmt.Errorf("it numbers windows from %d, and %d was given before", e.nextID, st.nextID-1)
	}
	st.begun, st.nextID = true, e.nextID
	for i := range e.parts {
		st.add(&e.parts[i])
	}
	for i := range e.windows {
		w := e.windows[i]
		st.windows[w.ID] = &w
	}
	for _, id := range e.gone {
		delete(st.windows, id)
	}
	return nil
}

func (st *state) add(e *partEntry) {
	p := st.parts[e.key]
	if p == nil {
		p = &part{}
		st.parts[e.key] = p
	}
	for _, i := range e.held {
		p.set.AddHeld(i)
	}
	for _, v := range e.void {
		p.set.AddVoid(v)
	}
	for _, i := range e.aside {
		p.aside.AddHeld(i)
	}
	p.floor = max(p.floor, e.floor)
}

// whole is the state as a checkpoint.
func (st *state) whole() *entry {
	e := newEntry(st.nextID)
	e.checkpoint = true
	for k, p := range st.parts {
		e.parts = append(e.parts, partEntry{key: k, held: p.set.Held(), void: p.set.Voids(), aside: p.setAside(), floor: p.floor})
	}
	slices.SortFunc(e.parts, func(a, b partEntry) int {
		return cmp.Or(cmp.Compare(a.lane, b.lane), compareStreams(a.stream, b.stream))
	})
	e.windows = st.sorted(func(*sdk.RecoveryWindow) bool { return true })
	return e
}

// sorted returns the windows that keep chooses, by lane, stream and position.
func (st *state) sorted(keep func(*sdk.RecoveryWindow) bool) []sdk.RecoveryWindow {
	var out []sdk.RecoveryWindow
	for _, w := range st.windows {
		if keep(w) {
			out = append(out, *w)
		}
	}
	slices.SortFunc(out, func(a, b sdk.RecoveryWindow) int {
		return cmp.Or(cmp.Compare(a.Lane, b.Lane), compareStreams(a.Stream, b.Stream), cmp.Compare(a.From, b.From))
	})
	return out
}

func compareStreams(a, b sdk.Stream) int {
	return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Topic, b.Topic),
		cmp.Compare(a.Incarnation, b.Incarnation), cmp.Compare(a.Partition, b.Partition))
}

// checkLane refuses what is no lane of a secondary.
func checkLane(lane string) error {
	if lane == "" || lane == sdk.LaneRaw || !utf8.ValidString(lane) {
		return fmt.Errorf("%q is not the name of a secondary's lane", lane)
	}
	return nil
}
