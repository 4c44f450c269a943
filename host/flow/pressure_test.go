package flow

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Every threshold of F1 and F2, a hair on each side of it, from each state.
func TestPressureThresholds(t *testing.T) {
	const e = 1e-9
	busy := func(memory, fill float64) Reading { return Reading{Memory: memory, Fill: fill, Held: 1} }
	for _, c := range []struct {
		name string
		from State
		r    Reading
		want State
	}{
		{"nothing", Normal, Reading{}, Normal},
		{"memory just below", Normal, busy(.80-e, 0), Normal},
		{"memory at 80 %", Normal, busy(.80, 0), Degraded},
		{"memory at 90 %", Normal, busy(.90, 0), Degraded},
		{"memory above 90 %", Normal, busy(.90+e, 0), Critical},
		{"channels just below", Normal, busy(0, .70-e), Normal},
		{"channels at 70 %", Normal, busy(0, .70), Degraded},
		{"channels at 90 %", Normal, busy(0, .90), Degraded},
		{"channels above 90 %", Normal, busy(0, .90+e), Critical},
		{"a failure", Normal, Reading{Failures: 1}, Degraded},
		{"many failures", Normal, Reading{Failures: 99}, Degraded},

		{"high memory, nothing held (F2)", Normal, Reading{Memory: .95}, Normal},
		{"just not nothing held", Normal, Reading{Memory: .95, Held: .05}, Critical},
		{"just not nothing waits", Normal, Reading{Memory: .95, Fill: .05}, Critical},
		{"almost nothing held", Normal, Reading{Memory: .85, Held: .05 - e, Fill: .05 - e}, Normal},
		{"nothing held, but failures", Normal, Reading{Memory: .95, Failures: 1}, Degraded},

		{"degraded: worse", Degraded, busy(.90+e, 0), Critical},
		{"degraded: full", Degraded, busy(0, .90+e), Critical},
		{"degraded: still", Degraded, busy(.80, 0), Degraded},
		{"degraded: gone", Degraded, Reading{}, Degraded}, // for 30 s
		{"critical: gone", Critical, Reading{}, Critical}, // for 5 s
		{"recovery: nothing", Recovery, Reading{}, Recovery},
		{"recovery: just below", Recovery, busy(.80-e, .70-e), Recovery},
		{"recovery: pressed again", Recovery, busy(.80, 0), Degraded},
		{"recovery: full again", Recovery, busy(0, .70), Degraded},
		{"recovery: fails again", Recovery, Reading{Failures: 1}, Degraded},
		{"recovery: dire", Recovery, busy(.95, 0), Critical},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := inState(c.from)
			changed := p.Observe(at(0), c.r)
			if p.State() != c.want || changed != (c.want != c.from) {
				t.Errorf("%s and %+v: %s, changed %v, want %s", c.from, c.r, p.State(), changed, c.want)
			}
		})
	}
}

// inState returns a machine that has just entered a state.
func inState(s State) *Pressure {
	p := NewPressure(DefaultPressure)
	p.state, p.entered = s, at(0)
	return p
}

func TestPressureOutputs(t *testing.T) {
	for s, want := range map[State]float64{Normal: 1, Degraded: .5, Critical: .25, Recovery: .75} {
		if p := inState(s); p.Fraction() != want || p.Paused() {
			t.Errorf("%s: fraction %v, paused %v", s, p.Fraction(), p.Paused())
		}
	}
	p := NewPressure(DefaultPressure)
	p.Observe(at(0), Reading{Fill: 1})
	if !p.Paused() || p.Fraction() != .25 {
		t.Errorf("critical: fraction %v, paused %v", p.Fraction(), p.Paused())
	}
	p.Observe(at(time.Second), Reading{Fill: .86})
	if !p.Paused() {
		t.Error("not paused, although the channels are not emptier by the margin")
	}
	p.Observe(at(2*time.Second), Reading{Fill: .85})
	if p.Paused() || p.State() != Critical {
		t.Errorf("%s, paused %v: the state lasts a while, the pause need not", p.State(), p.Paused())
	}
}

// The way back: 5 s, 30 s since everything is clear, 60 s.
func TestPressureWayBack(t *testing.T) {
	type step struct {
		at   time.Duration
		r    Reading
		want State
	}
	s, dire, low := time.Second, Reading{Fill: .95, Held: 1}, Reading{Fill: .1, Held: .1}
	for name, steps := range map[string][]step{
		"straight": {
			{0, dire, Critical}, {s, low, Critical}, {6*s - 1, low, Critical}, {6 * s, low, Degraded},
			{31*s - 1, low, Degraded}, {31 * s, low, Recovery}, {91*s - 1, low, Recovery}, {91 * s, low, Normal},
		},
		"a relapse begins the wait anew": {
			{0, Reading{Failures: 1}, Degraded}, {s, low, Degraded}, {30 * s, Reading{Failures: 1}, Degraded}, {31 * s, low, Degraded},
			{61*s - 1, low, Degraded}, {61 * s, low, Recovery}, {62 * s, Reading{Fill: .7}, Degraded}, {63 * s, low, Degraded}, {93 * s, low, Recovery},
		},
		"within the margin it is not over": {
			{0, Reading{Memory: .8, Held: 1}, Degraded}, {s, Reading{Memory: .76, Held: 1}, Degraded}, {120 * s, Reading{Memory: .76, Held: 1}, Degraded},
			{121 * s, Reading{Memory: .74, Held: 1}, Degraded}, {151 * s, Reading{Memory: .74, Held: 1}, Recovery},
		},
		"half the budget, as full as before": {
			{0, Reading{Fill: .7}, Degraded}, {s, Reading{Fill: .45}, Degraded}, {120 * s, Reading{Fill: .31}, Degraded},
			{121 * s, Reading{Fill: .29}, Degraded}, {151 * s, Reading{Fill: .29}, Recovery}, {152 * s, Reading{Fill: .69}, Recovery},
		},
		"critical, then still pressed": {
			{0, dire, Critical}, {s, Reading{Fill: .8}, Critical}, {6 * s, Reading{Fill: .8}, Degraded}, {7 * s, dire, Critical},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPressure(DefaultPressure)
			for _, st := range steps {
				p.Observe(at(st.at), st.r)
				if p.State() != st.want {
					t.Fatalf("at %v: %s, want %s", st.at, p.State(), st.want)
				}
			}
		})
	}
}

// pressureModel is the machine written down once more, without a table: it
// keeps the whole history and looks it through each time.
type pressureModel struct {
	state   State
	entered time.Time
	looks   []struct {
		at  time.Time
		sev Severity
	}
}

func (m *pressureModel) observe(now time.Time, r Reading) {
	if m.entered.IsZero() {
		m.entered = now
	}
	marginC, marginD := 0.0, 0.0
	if m.state == Critical {
		marginC = .05
	}
	if m.state == Critical || m.state == Degraded {
		marginD = .05
	}
	full := .7
	if m.state == Degraded { // half of the budget is in force
		full = .35
	}
	mem := r.Memory
	if r.Held < .05 && r.Fill < .05 && mem >= .8 {
		mem = 0
	}
	sev := Clear
	if mem >= .8-marginD || r.Fill >= full-marginD || r.Failures > 0 {
		sev = Pressed
	}
	if mem > .9-marginC || r.Fill > .9-marginC {
		sev = Dire
	}
	m.looks = append(m.looks, struct {
		at  time.Time
		sev Severity
	}{now, sev})
	go2 := func(s State) { m.state, m.entered = s, now }
	switch {
	case m.state != Critical && sev == Dire:
		go2(Critical)
	case (m.state == Normal || m.state == Recovery) && sev == Pressed:
		go2(Degraded)
	case m.state == Critical && sev < Dire && m.calm(now, Pressed) >= 5*time.Second:
		go2(Degraded)
	case m.state == Degraded && sev == Clear && m.calm(now, Clear) >= 30*time.Second:
		go2(Recovery)
	case m.state == Recovery && sev == Clear && now.Sub(m.entered) >= time.Minute:
		go2(Normal)
	}
}

// calm is how long the severity has been at most that.
func (m *pressureModel) calm(now time.Time, most Severity) time.Duration {
	var d time.Duration
	for i := len(m.looks) - 1; i >= 0 && m.looks[i].sev <= most; i-- {
		d = now.Sub(m.looks[i].at)
	}
	return d
}

func TestPressureAgainstTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, m, now := NewPressure(DefaultPressure), &pressureModel{}, start
		levels := []float64{0, .04, .05, .29, .31, .64, .65, .69, .7, .74, .75, .8, .85, .86, .9, .91, 1}
		for i := range rapid.IntRange(1, 60).Draw(t, "looks") {
			r := Reading{Memory: rapid.SampledFrom(levels).Draw(t, "memory"), Fill: rapid.SampledFrom(levels).Draw(t, "fill"),
				Held: rapid.SampledFrom(levels).Draw(t, "held"), Failures: rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "failures")}
			if rapid.Bool().Draw(t, "calm") {
				r = Reading{}
			}
			for range rapid.SampledFrom([]int{1, 1, 5, 40, 70}).Draw(t, "times") {
				now = now.Add(time.Duration(rapid.IntRange(100, 2000).Draw(t, "ms")) * time.Millisecond)
				p.Observe(now, r)
				m.observe(now, r)
				if p.State() != m.state {
					t.Fatalf("look %d, %+v: %s, the model says %s", i, r, p.State(), m.state)
				}
			}
		}
	})
}

// A square wave, whatever its period, makes no sawtooth: the machine changes
// its state a few times a minute at most.
func TestSquareWave(t *testing.T) {
	for _, c := range []struct {
		period time.Duration
		most   float64 // changes a minute
	}{
		{200 * time.Millisecond, 1}, {2 * time.Second, 1}, {8 * time.Second, 1}, {12 * time.Second, 10},
		{20 * time.Second, 6}, {time.Minute, 3}, {90 * time.Second, 3}, {4 * time.Minute, 2},
	} {
		t.Run(fmt.Sprint(c.period), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const minutes = 20
				p, began := NewPressure(DefaultPressure), time.Now()
				for end := began.Add(minutes * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
					r := Reading{Memory: .5, Fill: .1, Held: .1}
					if time.Since(began)%c.period < c.period/2 {
						r = Reading{Memory: .95, Fill: .95, Held: 1}
					}
					p.Observe(time.Now(), r)
				}
				if got := float64(p.Changes()) / minutes; got > c.most || p.Changes() == 0 {
					t.Errorf("%.1f changes a minute, want at most %v", got, c.most)
				}
			})
		})
	}
}

// Whatever the readings are, two changes a CalmDown is the bound.
func TestChangesAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, now := NewPressure(DefaultPressure), start
		for range 600 { // a minute
			now = now.Add(100 * time.Millisecond)
			p.Observe(now, Reading{Memory: rapid.Float64Range(0, 1).Draw(t, "memory"), Held: 1})
		}
		if p.Changes() > 25 {
			t.Fatalf("%d changes in a minute", p.Changes())
		}
	})
}
