package flow

import (
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

const mib = 1 << 20

func TestWarmUpEnds(t *testing.T) {
	cfg := AdmissionConfig{Budget: 100 * mib, WarmUp: WarmUp{Fraction: .25, Acks: 3, Timeout: 10 * time.Second}}
	for _, c := range []struct {
		name string
		acks int
		at   time.Duration
		want int64
	}{
		{"at first", 0, 0, 25 * mib},
		{"an ack before", 2, 0, 25 * mib},
		{"by acks", 3, 0, 100 * mib},
		{"a moment before the timeout", 0, 10*time.Second - 1, 25 * mib},
		{"by the timeout", 0, 10 * time.Second, 100 * mib},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := NewAdmission(cfg)
			a.Tick(at(-time.Hour)) // time before the first grant does not count
			a.Granted(at(0), a.Grantable())
			for range c.acks {
				a.Acked()
			}
			a.Tick(at(c.at))
			if a.Limit() != c.want || a.WarmingUp() == (c.want == 100*mib) {
				t.Errorf("limit %d, warming up %v, want %d", a.Limit(), a.WarmingUp(), c.want)
			}
		})
	}
}

// F5, F6: what a record gets that does not fit into what can be granted now.
func TestLargeRecord(t *testing.T) {
	warmUp := WarmUp{Fraction: .25, Acks: 10, Timeout: time.Hour}
	for _, c := range []struct {
		name            string
		overdraft       int64
		before, frame   int64 // frames, in MiB
		want            Verdict
		warmingUp, done bool
	}{
		{"fits the warm-up budget", 0, 0, 24, Admitted, true, false},
		{"just fits it", 0, 0, 25, Admitted, true, false},
		{"fits the full budget, nothing in flight", 0, 0, 26, Admitted, false, false},
		{"fits the full budget exactly", 0, 0, 100, Admitted, false, false},
		{"passes the full budget", 0, 0, 101, Oversized, true, false},
		{"fits the full budget, something in flight", 0, 1, 26, Oversized, true, false},
		{"the same, with an overdraft", 26, 1, 26, Admitted, true, false},
		{"passes budget and overdraft", 101, 0, 102, Oversized, true, false},
		{"passes the budget within the overdraft", 101, 0, 101, Admitted, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := NewAdmission(AdmissionConfig{Budget: 100 * mib, Overdraft: c.overdraft * mib, WarmUp: warmUp})
			a.Granted(at(0), a.Grantable())
			if c.before > 0 && a.Receive(c.before*mib, 1) != Admitted {
				t.Fatal("the first frame was not admitted")
			}
			got := a.Receive(c.frame*mib, 1)
			if got != c.want || a.WarmingUp() != c.warmingUp {
				t.Errorf("verdict %d, warming up %v, want %d, %v", got, a.WarmingUp(), c.want, c.warmingUp)
			}
		})
	}
}

// record_size_est_bytes is seed and floor only: a record that is expected to
// fit the full budget alone does not wait for the warm-up, and small records
// are charged as if they had that size.
func TestRecordSizeIsSeedAndFloor(t *testing.T) {
	for size, warmingUp := range map[int64]bool{0: true, 25: true, 26: false, 100: false, 101: true} {
		a := NewAdmission(AdmissionConfig{Budget: 100, RecordSize: size, WarmUp: WarmUp{Fraction: .25, Acks: 1, Timeout: time.Hour}})
		if a.WarmingUp() != warmingUp {
			t.Errorf("record size %d: warming up %v", size, a.WarmingUp())
		}
	}
	a := NewAdmission(AdmissionConfig{Budget: mib, RecordSize: 1000, ItemOverhead: 10, RowOverhead: 1})
	for _, c := range []struct {
		frame int64
		rows  int
		want  int64
	}{{500, 1, 1000}, {500, 3, 3000}, {5000, 3, 5013}, {5000, 0, 5010}} {
		if got := a.Charge(c.frame, c.rows); got != c.want {
			t.Errorf("%d bytes, %d rows: charge %d, want %d", c.frame, c.rows, got, c.want)
		}
	}
}

// F9: credit is reserved as what it is expected to expand to.
func TestCreditFollowsTheRatio(t *testing.T) {
	a := NewAdmission(AdmissionConfig{Budget: 8 * mib, WarmUp: WarmUp{Fraction: 1}})
	if got := a.Grantable(); got != mib {
		t.Errorf("grantable %d at first, want the budget by the conservative ratio", got)
	}
	s, other := a.Join(), a.Join()
	for range enoughSamples {
		a.Sample(s, 64)
		a.Sample(other, 1)
	}
	if got := a.Grantable(); got != 8*mib/64 {
		t.Errorf("grantable %d with a stream that expands 64 times", got)
	}
	a.Leave(s)
	a.Leave(s)
	a.Tick(at(0))
	if got := a.Grantable(); got != mib || a.Ratio() != 1 {
		t.Errorf("grantable %d, ratio %v once that stream is gone", got, a.Ratio())
	}
	a.Press(.25)
	if got := a.Grantable(); got != mib {
		t.Errorf("grantable %d of a quarter of the budget", got)
	}
}

// INV5: a sink is away while records trickle in, one in a frame. What is kept
// beside the frames counts, so that their number is bounded too.
func TestSmallFramesFillTheBudget(t *testing.T) {
	const frame, limit = 400, 64 * mib
	a := NewAdmission(AdmissionConfig{Budget: limit, Overdraft: mib, ItemOverhead: 2 << 10, RowOverhead: 16, WarmUp: WarmUp{Fraction: 1}})
	s, n := a.Join(), int64(0)
	for {
		a.Granted(at(0), a.Grantable())
		if a.Credit() <= 0 {
			break
		}
		if v := a.Receive(frame, 1); v != Admitted {
			t.Fatalf("verdict %d", v)
		}
		a.Sample(s, float64(a.Charge(frame, 1))/frame)
		n++
	}
	charge := a.Charge(frame, 1)
	if held := n * charge; held < limit*9/10 || held > limit+a.Ahead()/int64(a.Ratio())*8 {
		t.Errorf("%d frames take %d of a budget of %d", n, held, limit)
	}
	for range n {
		a.Release(frame, 1)
	}
	if a.Used() != 0 || a.Frames() != 0 {
		t.Errorf("%d used, %d of frames after all were released", a.Used(), a.Frames())
	}
}

// One frame that is larger than the budget goes through, alone.
func TestALargeFrameOverdraws(t *testing.T) {
	a := NewAdmission(AdmissionConfig{Budget: 1000, Overdraft: 5000, WarmUp: WarmUp{Fraction: 1}})
	a.Granted(at(0), a.Grantable())
	if v := a.Receive(5000, 1); v != Admitted || a.Grantable() != 0 {
		t.Fatalf("verdict %d, grantable %d", v, a.Grantable())
	}
	if v := a.Receive(1, 1); v != Uncalled {
		t.Errorf("a frame without credit: verdict %d", v)
	}
	a.Release(5000, 1)
	a.Release(1, 1)
	a.Granted(at(0), a.Grantable())
	if a.Credit() <= 0 || a.Credit() > 1000 {
		t.Errorf("credit %d after it was released", a.Credit())
	}
}
