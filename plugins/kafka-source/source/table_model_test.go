package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/twg-io/twg/sdk"
)

// tableModel is a dumb second table: it keeps a log of what happened to each
// partition and answers by reading it.
type tableModel struct {
	t     *table
	parts map[int32]*partModel
	runs  uint64
	dead  []sdk.Mark // of runs that are over
}

type partModel struct {
	owned, announced, revoking bool
	incarnation                byte
	name                       string // the incarnation that the host's store gives it; "-": it was never started
	run                        uint64
	committed                  int64
}

const modelParts = 3

func newTableModel() *tableModel {
	m := &tableModel{t: newTable(), parts: make(map[int32]*partModel)}
	for p := range int32(modelParts) {
		m.parts[p] = &partModel{}
	}
	return m
}

func modelStream(p int32, incarnation byte) sdk.Stream {
	return sdk.Stream{Topic: "t", Partition: p, Incarnation: fmt.Sprint(incarnation)}
}

func modelName(p int32, incarnation string) sdk.Stream {
	return sdk.Stream{Topic: "t", Partition: p, Incarnation: incarnation}
}

func only(p int32) map[string][]int32 { return map[string][]int32{"t": {p}} }

func (m *tableModel) end(p int32) {
	if x := m.parts[p]; x.run != 0 {
		m.dead = append(m.dead, sdk.Mark{Stream: modelName(p, x.name), Run: x.run, Next: 1})
		x.run, x.revoking = 0, false
	}
}

func (m *tableModel) step(t *rapid.T) {
	p := rapid.Int32Range(0, modelParts-1).Draw(t, "partition")
	x := m.parts[p]
	switch rapid.SampledFrom([]string{"assign", "announce", "start", "drop", "revoke", "remove", "recreate", "commit", "dead"}).Draw(t, "step") {
	case "assign":
		m.t.assign(only(p))
		x.owned = true
	case "announce":
		inc := rapid.ByteRange(1, 2).Draw(t, "incarnation")
		ok := m.t.announce(partition{"t", p}, modelStream(p, inc), [16]byte{inc}, modelParts)
		if want := x.owned && !x.announced; ok != want {
			t.Fatalf("announce %d: %t, want %t", p, ok, want)
		} else if ok {
			x.announced, x.incarnation, x.name = true, inc, "-"
		}
	case "start":
		m.start(t, p, x)
	case "drop":
		if x.run != 0 {
			if err := m.t.drop(t.Context(), []uint64{x.run}); err != nil {
				t.Fatal(err)
			}
			m.end(p)
		}
	case "revoke":
		m.sameRuns(t, m.t.halt(only(p)), x.run)
		x.revoking = x.run != 0
	case "remove":
		m.sameRuns(t, m.t.remove(only(p)), x.run)
		m.end(p)
		*x = partModel{}
	case "recreate":
		m.recreate(t, rapid.ByteRange(1, 2).Draw(t, "incarnation"))
	case "commit":
		m.commit(t, p, x, rapid.Int64Range(0, 9).Draw(t, "next"))
	case "dead":
		for _, d := range m.dead {
			m.admitted(t, d, false, true, "")
		}
	}
}

func (m *tableModel) start(t *rapid.T, p int32, x *partModel) {
	m.runs++
	inc := rapid.ByteRange(1, 2).Draw(t, "incarnation")
	st := sdk.Start{Stream: modelStream(p, inc), Run: m.runs}
	name := rapid.SampledFrom([]string{st.Stream.Incarnation, "", st.Stream.Incarnation + "~1"}).Draw(t, "name")
	if name != st.Stream.Incarnation {
		st.KnownAs = modelName(p, name)
	}
	err := m.t.start([]sdk.Start{st}, make([]history, 1))
	if ok := x.announced && x.incarnation == inc; ok != (err == nil) {
		t.Fatalf("start %d of incarnation %d: %v", p, inc, err)
	} else if ok {
		m.end(p)
		x.run, x.committed, x.name = m.runs, sdk.NoPosition, name
	}
}

func (m *tableModel) recreate(t *rapid.T, inc byte) {
	var want []uint64
	for p, x := range m.parts {
		if x.announced && x.incarnation != inc {
			if x.run != 0 {
				want = append(want, x.run)
			}
			m.end(p)
			*x = partModel{owned: true}
		}
	}
	slices.Sort(want)
	m.sameRuns(t, m.t.replace("t", [16]byte{inc}), want...)
}

func (m *tableModel) commit(t *rapid.T, p int32, x *partModel, next int64) {
	own := fmt.Sprint(max(x.incarnation, 1))
	name := x.name
	mark := sdk.Mark{Run: x.run, Next: next}
	if x.run == 0 { // a decision before its start
		mark.Run = m.runs + 1
		name = rapid.SampledFrom([]string{own, "", own + "~1", own + "~2", "3", "3~1"}).Draw(t, "name")
	}
	mark.Stream = modelName(p, name)
	known := x.announced && (name == own || name == x.name || strings.HasPrefix(name, own+"~"))
	sent := known && (x.run == 0 || next > x.committed)
	as := own
	if strings.Contains(name, "~") {
		as = name
	}
	m.admitted(t, mark, sent, !known, as)
	if sent {
		m.t.noteCommitted(mark)
		x.committed = next
	}
}

// admitted checks whether a mark is sent, under which incarnation, and whether
// it is refused.
func (m *tableModel) admitted(t *rapid.T, mark sdk.Mark, sent, refused bool, as string) {
	errs := make([]error, 1)
	list := m.t.admit([]sdk.Mark{mark}, []int{0}, errs, func() {})
	if (len(list) == 1) != sent || (errs[0] != nil) != refused || refused && sdk.KindOf(errs[0]) != sdk.KindFenced {
		t.Fatalf("mark %+v: sent %v, refused %v, want %t and %t", mark, list, errs[0], sent, refused)
	}
	if sent && list[0].incarnation != as {
		t.Fatalf("mark %+v is committed under incarnation %q, want %q", mark, list[0].incarnation, as)
	}
}

func (m *tableModel) sameRuns(t *rapid.T, got []uint64, want ...uint64) {
	if want = slices.DeleteFunc(want, func(r uint64) bool { return r == 0 }); !slices.Equal(got, want) {
		t.Fatalf("runs %v ended, want %v", got, want)
	}
}

// fetchable checks what may be fetched now.
func (m *tableModel) fetchable(t *rapid.T) {
	var want, got []uint64
	for _, x := range m.parts {
		if x.run != 0 && !x.revoking {
			want = append(want, x.run)
		}
	}
	runs, _ := m.t.take(func(*run) bool { return true })
	for _, r := range runs {
		got = append(got, r.id)
	}
	m.t.release(runs)
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("runs %v may be fetched, want %v", got, want)
	}
}

func TestTableModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newTableModel()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			m.step(t)
			m.fetchable(t)
		}
	})
}
