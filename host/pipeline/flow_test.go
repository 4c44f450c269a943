package pipeline

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

const mib = 1 << 20

// Case 6: the sink is down for ten minutes while a million records wait. What
// is held is bounded, the member stays in its group, nothing is fetched, and
// afterwards everything arrives once.
func TestSinkDownTenMinutes(t *testing.T) {
	src := &loadSource{parts: 4, records: 250_000, perPart: 1000, size: bytesEach(10)}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget = 2 * mib
		r.sink.delay = time.Millisecond
	}, func(r *rig) {
		r.pass(100 * time.Millisecond)
		before := r.p.Status().Records
		r.sink.down.Store(true)
		r.pass(time.Minute)
		sent, beats := src.sent.Load(), src.beats.Load()
		s := r.flow()
		if before == 0 || sent == 0 || s.State == flow.Normal || s.WriteFailures == 0 || s.Used == 0 {
			t.Errorf("a minute into the outage: %d records before, %d frames, %+v", before, sent, s)
		}
		r.pass(9 * time.Minute)
		if got := src.sent.Load(); got != sent {
			t.Errorf("%d frames were fetched while nothing could be written", got-sent)
		}
		if src.opens != 1 || src.closed.Load() != 0 || src.beats.Load()-beats < 170 {
			t.Errorf("%d lives, %d ended, %d heartbeats in nine minutes: the member left its group", src.opens, src.closed.Load(), src.beats.Load()-beats)
		}
		if s := r.flow(); s.Stuck != flow.Moving {
			t.Errorf("a sink that is down is not stuck: %+v", s)
		}
		r.sink.down.Store(false)
		r.caughtUp(5 * time.Minute)
		r.pass(3 * time.Minute)
		if s := r.flow(); s.State != flow.Normal || s.Used != 0 || s.Changes > 6 {
			t.Errorf("three minutes after it was over: %+v", s)
		}
		r.bounded(2 * mib)
	})
}

// INV5: after the warm-up, records expand a hundredfold. The estimate follows,
// and what may be fetched shrinks with it.
func TestExpansionAfterWarmUp(t *testing.T) {
	const budget = mib
	src := &loadSource{parts: 2, records: 60_000, perPart: 100}
	late := func(pos int64) bool { return pos >= 50_000 }
	src.size = func(pos int64) int {
		if late(pos) {
			return 2000
		}
		return 20
	}
	src.ratio = func(pos int64) int64 {
		if late(pos) {
			return 100
		}
		return 1
	}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget = budget
		r.sink.delay = 5 * time.Millisecond
	}, func(r *rig) {
		for r.p.Status().Records < 50_000 {
			r.pass(50 * time.Millisecond)
		}
		if s := r.flow(); s.WarmingUp || s.Expansion > 3 {
			t.Errorf("before: %+v", s)
		}
		for r.p.Status().Records < 110_000 {
			r.pass(50 * time.Millisecond)
		}
		src.ahead.Store(0)
		r.caughtUp(time.Hour)
		if s := r.flow(); s.Expansion < 100 || s.Expansion > 130 {
			t.Errorf("after: %+v", s)
		}
		if got := src.ahead.Load(); got > budget/100 {
			t.Errorf("%d compressed bytes were fetched at once: they expand to more than the budget of %d", got, budget)
		}
		r.bounded(budget)
	})
}

// A thousand tiny partitions, in a budget that is smaller than their frames
// together.
func TestThousandTinyPartitions(t *testing.T) {
	src := &loadSource{parts: 1000, records: 7, perPart: 3, size: bytesEach(10)}
	underLoad(t, src, func(r *rig, cfg *Config) { cfg.MemoryBudget = 64 << 10 }, func(r *rig) {
		r.caughtUp(5 * time.Minute)
		r.bounded(64 << 10)
	})
}

// F5: a record that fits the full but not the warm-up budget: with nothing in
// flight the warm-up ends at once, and nothing stalls behind it.
func TestRecordAboveTheWarmUpBudget(t *testing.T) {
	for name, c := range map[string]struct {
		size      int
		warmingUp bool
	}{"fits the warm-up budget": {200_000, true}, "fits the full budget": {600_000, false}, "fits neither": {1_200_000, true}} {
		t.Run(name, func(t *testing.T) {
			src := &loadSource{parts: 1, records: 20, perPart: 1, size: bytesEach(c.size)}
			underLoad(t, src, func(r *rig, cfg *Config) {
				cfg.MemoryBudget = mib
				cfg.FlowControl.WarmUp = flow.WarmUp{Fraction: .25, Acks: 1000, Timeout: time.Hour}
				r.sink.delay = time.Second
			}, func(r *rig) {
				r.pass(500 * time.Millisecond)
				if s := r.flow(); s.WarmingUp != c.warmingUp || s.Used == 0 {
					t.Errorf("%+v", s)
				}
				r.caughtUp(5 * time.Minute)
				r.bounded(mib)
			})
		})
	}
}

// A sink that confirms whole files, a budget below one, and memory high all the
// time: paused as it is, the pipeline asks for receipts and goes on.
func TestFlushWhilePaused(t *testing.T) {
	src := &loadSource{parts: 2, records: 2000, perPart: 10, size: bytesEach(100)}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget, cfg.MaxAckDelay = 64<<10, time.Hour
		cfg.FlowControl.Memory = memoryAt(.97)
		r.sink.hold, r.sink.delay = true, 100*time.Millisecond
	}, func(r *rig) {
		r.caughtUp(time.Hour)
		if s := r.flow(); s.Changes == 0 || s.Stuck != flow.Moving {
			t.Errorf("%+v: the test tests nothing", s)
		}
		r.bounded(64 << 10)
	})
}

func memoryAt(ratio float64) func() (int64, int64) {
	return func() (int64, int64) { return int64(ratio * 1e9), 1e9 }
}

// F2: memory is high and hardly anything is held: it is the allocator's
// garbage, and no reason to throttle.
func TestGarbageDoesNotThrottle(t *testing.T) {
	src := &loadSource{parts: 1, records: 3000, perPart: 10, size: bytesEach(100)}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget = 64 * mib
		cfg.FlowControl.Memory = memoryAt(.97)
		r.sink.delay = 10 * time.Millisecond
	}, func(r *rig) {
		r.pass(2 * time.Second)
		s := r.flow()
		if s.Changes != 0 || s.State != flow.Normal || !s.MemoryIgnored || s.Memory < .96 || r.p.Status().Records == 0 {
			t.Errorf("%+v", s)
		}
		r.caughtUp(time.Hour)
	})
}

// The same memory with a working set throttles: the source pauses while the
// state is critical, and stays in its group.
func TestMemoryPausesTheSource(t *testing.T) {
	src := &loadSource{parts: 1, records: 100_000, perPart: 100, size: bytesEach(100)}
	var percent atomic.Int64
	percent.Store(50)
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget = 2 * mib
		cfg.FlowControl.Memory = func() (int64, int64) { return percent.Load(), 100 }
		r.unfinished = true
		r.sink.script = func(*fakeWriter, *sdk.Batch) bool { return true } // it takes all and answers nothing
	}, func(r *rig) {
		r.pass(10 * time.Second)
		percent.Store(95)
		r.pass(2 * time.Second)
		s, sent := r.flow(), src.sent.Load()
		if s.State != flow.Critical || !s.Paused || s.Limit != mib/2 && !s.WarmingUp || sent == 0 {
			t.Errorf("%+v after %d frames", s, sent)
		}
		r.pass(time.Minute)
		if src.sent.Load() != sent || src.closed.Load() != 0 || src.beats.Load() < 20 {
			t.Errorf("%d frames more, %d lives ended, %d heartbeats", src.sent.Load()-sent, src.closed.Load(), src.beats.Load())
		}
	})
}

// F3: the sink takes everything and answers nothing, memory is high: it is
// warned of, then unhealthy, then the end. F8 is not the diagnosis.
func TestStuckEnds(t *testing.T) {
	src := &loadSource{parts: 1, records: 100_000, perPart: 100, size: bytesEach(100)}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget = 2 * mib
		cfg.FlowControl.Memory = memoryAt(.85)
		r.sink.script = func(*fakeWriter, *sdk.Batch) bool { return true }
	}, func(r *rig) {
		for _, c := range []struct {
			after time.Duration
			want  flow.Level
		}{{4 * time.Minute, flow.Moving}, {2 * time.Minute, flow.Suspected}, {5 * time.Minute, flow.Unhealthy}, {8 * time.Minute, flow.Unhealthy}} {
			r.pass(c.after)
			if s := r.flow(); s.Stuck != c.want || s.SinkIsBottleneck {
				t.Fatalf("%+v, want %s", s, c.want)
			}
		}
		select {
		case err := <-r.done:
			if !errors.Is(err, ErrStuck) {
				t.Errorf("it ended with %v", err)
			}
			r.done <- err
		case <-time.After(3 * time.Minute):
			t.Error("it did not end")
		}
	})
}

// A sink that comes and goes is a square wave of load: no sawtooth of states
// follows. (How much arrives is the matter of how often a session is tried.)
func TestSinkThatComesAndGoes(t *testing.T) {
	for _, half := range []time.Duration{time.Second, 5 * time.Second, 45 * time.Second} {
		t.Run(half.String(), func(t *testing.T) {
			src := &loadSource{parts: 2, records: 1_000_000, perPart: 20, size: bytesEach(10)}
			underLoad(t, src, func(r *rig, cfg *Config) {
				cfg.MemoryBudget, r.unfinished = 256<<10, true
				r.sink.delay = 50 * time.Millisecond
			}, func(r *rig) {
				const minutes = 10
				for began := time.Now(); time.Since(began) < minutes*time.Minute; {
					r.pass(half)
					r.sink.down.Store(true)
					r.pass(half)
					r.sink.down.Store(false)
				}
				r.pass(20 * time.Second)
				s, got := r.flow(), r.p.Status().Records
				if s.Changes > minutes || s.Changes == 0 || got < 1000 {
					t.Errorf("%d changes of state in %d minutes, %d records, %+v", s.Changes, minutes, got, s)
				}
				t.Logf("%v down, %v up: %.1f changes a minute, %d records", half, half, float64(s.Changes)/minutes, got)
				r.bounded(256 << 10)
			})
		})
	}
}

// F3: nothing is in flight, memory is high, and the source is behind: stuck, if
// its server answers; if that is away, the matter is another one.
func TestNothingComes(t *testing.T) {
	for name, reachable := range map[string]bool{"the server answers": true, "the server is away": false} {
		t.Run(name, func(t *testing.T) {
			src := &loadSource{parts: 1, records: 100, perPart: 100, size: bytesEach(100), mute: true, reachable: reachable}
			underLoad(t, src, func(r *rig, cfg *Config) { cfg.FlowControl.Memory = memoryAt(.95) }, func(r *rig) {
				r.pass(15 * time.Minute)
				want := flow.Moving
				if reachable {
					want = flow.Unhealthy
				}
				if s := r.flow(); s.Stuck != want || s.Changes != 0 {
					t.Errorf("%+v, want %s", s, want)
				}
			})
		})
	}
}

// F3, F8: a saturated sink with low memory is the bottleneck, and neither a
// slow nor an idle one is stuck, whatever memory says.
func TestSlowSinkIsNotStuck(t *testing.T) {
	for name, c := range map[string]struct {
		memory     float64
		records    int64
		bottleneck bool
	}{"saturated": {.3, 100_000, true}, "saturated, memory high": {.85, 100_000, false}, "idle": {.95, 100, false}} {
		t.Run(name, func(t *testing.T) {
			src := &loadSource{parts: 1, records: c.records, perPart: 100, size: bytesEach(100)}
			underLoad(t, src, func(r *rig, cfg *Config) {
				cfg.MemoryBudget = mib
				cfg.FlowControl.Memory = memoryAt(c.memory)
				r.sink.delay, r.unfinished = 10*time.Second, true
			}, func(r *rig) {
				for range 60 {
					r.pass(time.Minute)
					if s := r.flow(); s.Stuck != flow.Moving || s.Stalled > time.Minute {
						t.Fatalf("%+v", s)
					}
				}
				s := r.flow()
				if s.SinkIsBottleneck != c.bottleneck || s.Changes > 6 {
					t.Errorf("%+v", s)
				}
				t.Logf("%s: %d changes of state in an hour, %.0f %% waiting", name, s.Changes, s.Waiting*100)
			})
		})
	}
}

// deadSecondary is never there.
type deadSecondary struct{ fakeSink }

func (*deadSecondary) Open(context.Context, sdk.Session) (sdk.Writer, error) {
	return nil, errors.New("no such host")
}

// F1a: a dead secondary sheds, and never feeds the machine.
func TestDeadSecondaryIsNoPressure(t *testing.T) {
	src := &loadSource{parts: 2, records: 20_000, perPart: 100, size: bytesEach(100)}
	underLoad(t, src, func(r *rig, cfg *Config) {
		cfg.MemoryBudget, cfg.Role = 8*mib, RoleIngest
		cfg.Sink = recoverable{r.sink, notAsked{}}
		cfg.FlowControl.Memory = memoryAt(.3)
		cfg.Secondaries = []Secondary{{Name: "dead", Sink: &deadSecondary{}, Caps: sdk.Capabilities{Durable: true}, Buffer: 256 << 10}}
	}, func(r *rig) {
		r.caughtUp(5 * time.Minute)
		r.pass(time.Minute)
		st := r.p.Status()
		if st.Secondaries[0].Live.Sheds == 0 || st.Secondaries[0].Live.Buffered == 0 {
			t.Errorf("%+v: the test tests nothing", st.Secondaries[0])
		}
		if s := st.Flow; s.Changes != 0 || s.WriteFailures != 0 || s.Used != 0 || s.State != flow.Normal {
			t.Errorf("%+v", s)
		}
	})
}

// recoverable makes a sink a sdk.RecoveryStore whose windows nobody asks for.
type recoverable struct {
	*loadSink
	notAsked
}

type notAsked struct{ nobody }
type nobody struct{ sdk.RecoveryStore }

// grants counts what a source is granted.
type grants struct {
	sdk.Reader
	n int64
}

func (g *grants) Grant(n int64) { g.n += n }

// The pause is one of its own: also where the budget leaves something.
func TestPausedGrantsNothing(t *testing.T) {
	p := New(Config{MemoryBudget: mib, Logger: quiet()})
	g, opened := &grants{}, make(chan struct{})
	close(opened)
	p.src = &source{opened: opened, reader: g}
	p.flow.pressure.Observe(time.Now(), flow.Reading{Memory: .95, Held: .1})
	if p.grant(); g.n != 0 {
		t.Errorf("%d granted while paused", g.n)
	}
	p.flow.pressure.Observe(time.Now(), flow.Reading{Memory: .5, Held: .1})
	if p.grant(); g.n == 0 {
		t.Error("nothing granted afterwards")
	}
}
