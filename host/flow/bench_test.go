package flow

import (
	"testing"
	"time"
)

// batches returns what one batch of one stream costs in admission: grant,
// receive, sample, receipt, release.
func batches(t testing.TB) func() {
	a := NewAdmission(AdmissionConfig{Budget: 128 << 20, Overdraft: 64 << 20, ItemOverhead: 2 << 10, RowOverhead: 16,
		WarmUp: WarmUp{Fraction: .25, Acks: 32, Timeout: 30 * time.Second}})
	streams := make([]*Stream, 8)
	for i := range streams {
		streams[i] = a.Join()
	}
	const frame, rows = 256 << 10, 512
	i := 0
	return func() {
		if n := a.Grantable(); n > 0 {
			a.Granted(start, n)
		}
		if a.Receive(frame, rows) != Admitted {
			t.Fatal("not admitted")
		}
		i++
		a.Sample(streams[i%8], float64(a.Charge(frame, rows))/float64(frame-i%1000))
		a.Acked()
		a.Release(frame, rows)
	}
}

// samples returns a sample that differs from those before.
func samples(testing.TB) func() {
	a := NewAdmission(AdmissionConfig{Budget: 128 << 20, WarmUp: WarmUp{Fraction: 1}})
	s, i := a.Join(), 0
	return func() {
		i++
		a.Sample(s, 1+float64(i%977)/100)
	}
}

// looks returns one look of all machines, with a thousand streams.
func looks(testing.TB) func() {
	a := NewAdmission(AdmissionConfig{Budget: 128 << 20, WarmUp: WarmUp{Fraction: 1}})
	p, st, bo, now := NewPressure(DefaultPressure), NewStuck(DefaultStuck), Bottleneck{}, start
	for range 1000 {
		a.Join()
	}
	return func() {
		now = now.Add(time.Second)
		a.Tick(now)
		p.Observe(now, Reading{Memory: .4, Fill: .1, Held: a.Saturation()})
		a.Press(p.Fraction())
		st.Observe(now, Signs{Memory: .5, Work: true})
		bo.Observe(now, a.Saturation(), true)
	}
}

func BenchmarkBatch(b *testing.B)  { bench(b, batches(b)) }
func BenchmarkSample(b *testing.B) { bench(b, samples(b)) }
func BenchmarkLook(b *testing.B)   { bench(b, looks(b)) }

func bench(b *testing.B, f func()) {
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
}

// Nothing allocates in steady state.
func TestNoAllocations(t *testing.T) {
	for name, f := range map[string]func(){"batch": batches(t), "sample": samples(t), "look": looks(t)} {
		if n := testing.AllocsPerRun(2000, f); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
