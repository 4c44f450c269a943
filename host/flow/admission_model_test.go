package flow

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// admissionModel is a list of what is held, beside the real thing.
type admissionModel struct {
	a       *Admission
	budget  int64
	list    []heldFrame
	credit  int64
	now     time.Time
	streams []*Stream
}

type heldFrame struct {
	frame int64
	rows  int
}

const (
	modelOverdraft = 4000
	modelItem      = 7
	modelRow       = 2
)

func (m *admissionModel) frames() (sum int64) {
	for _, h := range m.list {
		sum += h.frame
	}
	return sum
}

func (m *admissionModel) grant(t *rapid.T) {
	n := m.a.Grantable()
	if n < 0 || n > 0 && m.frames()+m.credit+n > m.budget {
		t.Fatalf("%d granted beside %d held and %d credit, with a budget of %d", n, m.frames(), m.credit, m.budget)
	}
	m.a.Granted(m.now, n)
	m.credit += n
}

func (m *admissionModel) receive(t *rapid.T) {
	m.grant(t)
	if m.credit <= 0 {
		return
	}
	h := heldFrame{rapid.Int64Range(1, modelOverdraft).Draw(t, "frame"), rapid.IntRange(0, 50).Draw(t, "rows")}
	if v := m.a.Receive(h.frame, h.rows); v != Admitted {
		t.Fatalf("verdict %d within credit and overdraft", v)
	}
	m.a.Sample(m.streams[h.frame%3], float64(m.a.Charge(h.frame, h.rows))/float64(h.frame))
	m.list, m.credit = append(m.list, h), m.credit-h.frame
}

func (m *admissionModel) release(t *rapid.T) {
	if len(m.list) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.list)-1).Draw(t, "i")
	m.a.Release(m.list[i].frame, m.list[i].rows)
	m.a.Acked()
	m.list = append(m.list[:i], m.list[i+1:]...)
}

func (m *admissionModel) check(t *rapid.T) {
	frames, used := m.frames(), int64(0)
	for _, h := range m.list {
		used += h.frame + modelItem + int64(h.rows)*modelRow
	}
	a := m.a
	if a.Frames() != frames || a.Used() != used || a.Credit() != m.credit {
		t.Fatalf("frames %d, used %d, credit %d; want %d, %d, %d", a.Frames(), a.Used(), a.Credit(), frames, used, m.credit)
	}
	if frames+max(m.credit, 0) > m.budget+modelOverdraft { // INV5
		t.Fatalf("%d held and %d granted, with a budget of %d and one frame of %d", frames, m.credit, m.budget, modelOverdraft)
	}
	if len(m.list) == 0 && m.credit <= 0 && a.Grantable() == 0 {
		t.Fatal("nothing is held and nothing can be granted: it stalls")
	}
}

// A source that keeps to its credit, frames of any size, receipts in any order,
// pressure and warm-up at any time.
func TestAdmissionAgainstAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &admissionModel{budget: rapid.Int64Range(1, 10_000).Draw(t, "budget"), now: start}
		m.a = NewAdmission(AdmissionConfig{Budget: m.budget, Overdraft: modelOverdraft, ItemOverhead: modelItem, RowOverhead: modelRow,
			WarmUp: WarmUp{Fraction: .25, Acks: 20, Timeout: 30 * time.Second}})
		m.streams = []*Stream{m.a.Join(), m.a.Join(), m.a.Join()}
		t.Repeat(map[string]func(*rapid.T){
			"receive": m.receive, "release": m.release, "": m.check,
			"press": func(t *rapid.T) { m.a.Press(rapid.SampledFrom([]float64{.25, .5, .75, 1}).Draw(t, "fraction")) },
			"tick": func(*rapid.T) {
				m.now = m.now.Add(time.Second)
				m.a.Tick(m.now)
			},
			"lose source": func(*rapid.T) { m.a.ForgetCredit(); m.credit = 0 },
		})
	})
}
