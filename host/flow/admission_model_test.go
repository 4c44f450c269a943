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
	samples int // of all streams
	// What should be in force.
	fraction float64
	warm     bool
	acks     int
	began    time.Time
}

func (m *admissionModel) used() (sum int64) {
	for _, h := range m.list {
		sum += h.frame + modelItem + int64(h.rows)*modelRow
	}
	return sum
}

// limit is what pressure and the warm-up leave of the budget.
func (m *admissionModel) limit() int64 {
	f := m.fraction
	if !m.warm {
		f = min(f, .25)
	}
	return max(1, int64(float64(m.budget)*f))
}

// fits reports whether credit, expanded as the estimate says, stays within what
// is in force. A source without credit may always get a byte, to be seen.
func (m *admissionModel) fits(credit int64) bool {
	left, n := m.limit()-m.used(), float64(credit)
	if left <= 0 || credit == 1 || n*m.a.Ratio() <= float64(left) {
		return left > 0
	}
	// Streams with too few samples may be taken for what the others are, as far
	// as that costs no more than a frame if they are not.
	return m.samples >= enoughSamples && n*m.a.seen <= float64(left) && n*m.a.Ratio() <= float64(left+min(unproven, modelOverdraft))
}

// sample notes what a stream expands to.
func (m *admissionModel) sample(s *Stream, ratio float64) {
	m.a.Sample(s, ratio)
	m.samples++
}

type heldFrame struct {
	frame int64
	rows  int
}

const (
	modelOverdraft = 4000
	modelItem      = 7
	modelRow       = 2
	modelAcks      = 3
)

func (m *admissionModel) frames() (sum int64) {
	for _, h := range m.list {
		sum += h.frame
	}
	return sum
}

func (m *admissionModel) grant(t *rapid.T) {
	n := m.a.Grantable()
	if n < 0 || n > 0 && !m.fits(m.credit+n) {
		t.Fatalf("%d granted beside %d used and %d credit at a ratio of %.1f, with %d in force", n, m.used(), m.credit, m.a.Ratio(), m.limit())
	}
	if m.began.IsZero() {
		m.began = m.now
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
	if need := m.a.Charge(h.frame, h.rows); m.used()+need > m.limit() && len(m.list) == 0 && need <= m.budget {
		m.warm = true
	}
	if v := m.a.Receive(h.frame, h.rows); v != Admitted {
		t.Fatalf("verdict %d within credit and overdraft", v)
	}
	m.sample(m.streams[h.frame%3], float64(m.a.Charge(h.frame, h.rows))/float64(h.frame))
	m.list, m.credit = append(m.list, h), m.credit-h.frame
}

func (m *admissionModel) release(t *rapid.T) {
	if len(m.list) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.list)-1).Draw(t, "i")
	m.a.Release(m.list[i].frame, m.list[i].rows)
	m.a.Acked()
	if m.acks++; m.acks >= modelAcks {
		m.warm = true
	}
	m.list = append(m.list[:i], m.list[i+1:]...)
}

func (m *admissionModel) check(t *rapid.T) {
	frames, used := m.frames(), m.used()
	a := m.a
	if a.Limit() != m.limit() || a.WarmingUp() == m.warm {
		t.Fatalf("%d in force, warming up %v; want %d, %v", a.Limit(), a.WarmingUp(), m.limit(), !m.warm)
	}
	for _, s := range m.streams {
		if s.Ratio() > a.Ratio() {
			t.Fatalf("credit is reserved at %.1f, and a stream expands by %.1f", a.Ratio(), s.Ratio())
		}
		if s.Seen() > a.seen {
			t.Fatalf("the samples say at most %.1f, and a stream's %.1f", a.seen, s.Seen())
		}
	}
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
		m := &admissionModel{budget: rapid.Int64Range(1, 10_000).Draw(t, "budget"), now: start, fraction: 1}
		m.a = NewAdmission(AdmissionConfig{Budget: m.budget, Overdraft: modelOverdraft, ItemOverhead: modelItem, RowOverhead: modelRow,
			WarmUp: WarmUp{Fraction: .25, Acks: modelAcks, Timeout: 30 * time.Second}})
		m.streams = []*Stream{m.a.Join(), m.a.Join(), m.a.Join()}
		t.Repeat(map[string]func(*rapid.T){
			"receive": m.receive, "release": m.release, "": m.check,
			"press": func(t *rapid.T) {
				m.fraction = rapid.SampledFrom([]float64{.25, .5, .75, 1}).Draw(t, "fraction")
				m.a.Press(m.fraction)
			},
			"samples": func(t *rapid.T) {
				s, ratio := rapid.SampledFrom(m.streams).Draw(t, "stream"), rapid.Float64Range(1, 20).Draw(t, "ratio")
				for range enoughSamples {
					m.sample(s, ratio)
				}
			},
			"stream": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "i")
				m.a.Leave(m.streams[i])
				m.streams[i] = m.a.Join()
			},
			"tick": func(*rapid.T) {
				m.now = m.now.Add(time.Second)
				m.a.Tick(m.now)
				if !m.began.IsZero() && m.now.Sub(m.began) >= 30*time.Second {
					m.warm = true
				}
			},
			"lose source": func(*rapid.T) { m.a.ForgetCredit(); m.credit = 0 },
		})
	})
}
