package coverage

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

const modelSize = 48

// model is the dumb set: a held bit and a void reason for each position.
type model struct {
	held [modelSize]bool
	void [modelSize]Reason
}

func (m *model) addHeld(i Interval) {
	for p := i.From; p < i.Next; p++ {
		m.held[p] = true
	}
}

func (m *model) addVoid(v Void) {
	for p := v.From; p < v.Next; p++ {
		if m.void[p] == 0 {
			m.void[p] = v.Reason
		}
	}
}

func (m *model) merge(o *model) {
	for p := range m.held {
		m.held[p] = m.held[p] || o.held[p]
		if m.void[p] == 0 {
			m.void[p] = o.void[p]
		}
	}
}

// runs returns the maximal runs within i of positions that in holds.
func runs(i Interval, in func(p int64) bool) (out []Interval) {
	for p := i.From; p < i.Next; p++ {
		switch {
		case !in(p):
		case len(out) > 0 && out[len(out)-1].Next == p:
			out[len(out)-1].Next++
		default:
			out = append(out, Interval{p, p + 1})
		}
	}
	return out
}

func (m *model) isHeld(p int64) bool  { return m.held[p] }
func (m *model) isKnown(p int64) bool { return m.held[p] || m.void[p] != 0 }

func (m *model) voids() (out []Void) {
	for p := range int64(modelSize) {
		r := m.void[p]
		switch last := len(out) - 1; {
		case r == 0:
		case last >= 0 && out[last].Next == p && out[last].Reason == r:
			out[last].Next++
		default:
			out = append(out, Void{Interval{p, p + 1}, r})
		}
	}
	return out
}

func (m *model) firstHole() int64 {
	for p := range int64(modelSize) {
		if !m.isKnown(p) {
			return p
		}
	}
	return modelSize
}

func (m *model) end() (end int64) {
	for p := range int64(modelSize) {
		if m.isKnown(p) {
			end = p + 1
		}
	}
	return end
}

func drawInterval(t *rapid.T) Interval {
	// One in a while is empty or the wrong way round.
	return Interval{rapid.Int64Range(0, modelSize).Draw(t, "from"), rapid.Int64Range(0, modelSize).Draw(t, "next")}
}

func drawVoid(t *rapid.T) Void {
	return Void{drawInterval(t), rapid.SampledFrom([]Reason{BeforeStart, Seek, Retention, Pruned}).Draw(t, "reason")}
}

// pair is a set and its model.
type pair struct {
	set   Set
	model model
}

func (p *pair) step(t *rapid.T) {
	if rapid.Bool().Draw(t, "held") {
		i := drawInterval(t)
		p.set.AddHeld(i)
		p.model.addHeld(i)
		return
	}
	v := drawVoid(t)
	p.set.AddVoid(v)
	p.model.addVoid(v)
}

func same[T any](t *rapid.T, what string, got, want []T) {
	t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s is %v, want %v", what, got, want)
	}
}

func (p *pair) check(t *rapid.T) {
	s, m, all := &p.set, &p.model, Interval{0, modelSize}
	same(t, "held", s.Held(), runs(all, m.isHeld))
	same(t, "voids", s.Voids(), m.voids())
	if s.FirstHole() != m.firstHole() || s.End() != m.end() {
		t.Fatalf("first hole %d, end %d; want %d, %d", s.FirstHole(), s.End(), m.firstHole(), m.end())
	}
	i := drawInterval(t)
	holes := runs(i, func(q int64) bool { return !m.isKnown(q) })
	same(t, "held within", s.HeldWithin(i), runs(i, m.isHeld))
	same(t, "holes", s.Holes(i), holes)
	same(t, "missing", s.Missing(i), runs(i, func(q int64) bool { return !m.isHeld(q) }))
	if s.Covers(i) != (len(holes) == 0) {
		t.Fatalf("covers %v: %v, with holes %v", i, s.Covers(i), holes)
	}
}

func TestSetAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b pair
		t.Repeat(map[string]func(*rapid.T){
			"add to a": a.step,
			"add to b": b.step,
			"merge b into a": func(*rapid.T) {
				a.set.Merge(&b.set)
				a.model.merge(&b.model)
			},
			"a is a copy from now on": func(t *rapid.T) {
				old := a.set
				a.set = *a.set.Clone()
				// What happens to the original is not seen in the copy.
				old.AddHeld(Interval{0, modelSize})
				old.AddVoid(Void{Interval{0, modelSize}, Seek})
			},
			"": func(t *rapid.T) { a.check(t); b.check(t) },
		})
	})
}

// TestMergeAnyOrder: coverage is a union; what is known does not depend on the
// order (the reason of a void may).
func TestMergeAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b pair
		for range rapid.IntRange(0, 10).Draw(t, "steps") {
			a.step(t)
			b.step(t)
		}
		ab, ba := a.set.Clone(), b.set.Clone()
		ab.Merge(&b.set)
		ba.Merge(&a.set)
		twice := ab.Clone()
		twice.Merge(ab)
		twice.Merge(twice)
		same(t, "held of b+a", ba.Held(), ab.Held())
		same(t, "holes of b+a", ba.Holes(Interval{0, modelSize}), ab.Holes(Interval{0, modelSize}))
		same(t, "held, merged twice", twice.Held(), ab.Held())
		same(t, "voids, merged twice", twice.Voids(), ab.Voids())
	})
}
