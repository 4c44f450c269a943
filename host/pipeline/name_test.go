package pipeline

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/offsetstore"
	"github.com/twg-io/twg/sdk"
)

// grow adds records of the current leader.
func (w *cutWorld) grow(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, slices.Repeat([]int32{w.epoch}, n)...)
}

// cut removes records, and adds others of a new leader.
func (w *cutWorld) cut(at int64, n int) {
	w.mu.Lock()
	w.log, w.epoch = w.log[:at], w.epoch+1
	w.mu.Unlock()
	w.grow(n)
}

func inc(incarnation string) sdk.Stream { return sdk.Stream{Topic: "t", Incarnation: incarnation} }

// calm is a world without faults; its runs deliver what is there.
func calmWorld(named bool) *cutWorld {
	w := newCutWorld(0)
	w.calm, w.named = true, named
	return w
}

func (w *cutWorld) runFor(t *testing.T, d time.Duration) {
	stop := w.host(t)
	time.Sleep(d)
	stop()
}

// A stream that was read without an incarnation keeps its place when its server
// names it; a topic that is created again later is another one, also where
// nobody remembers what was committed.
func TestALateNameIsAnAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := calmWorld(false)
		w.grow(10)
		w.runFor(t, time.Minute)
		w.named = true
		w.grow(10)
		w.runFor(t, time.Minute)
		if len(w.rows[inc("")]) != 20 || len(w.rows[inc("i0")]) != 0 {
			t.Errorf("%d rows without a name and %d with one, want 20 and 0", len(w.rows[inc("")]), len(w.rows[inc("i0")]))
		}
		for _, k := range []sdk.Stream{inc(""), inc("i0")} {
			if !w.set(k).Covers(offsetstore.AliasVoid().Interval) {
				t.Errorf("the alias is not recorded of %s", k)
			}
		}
		w.topic, w.log, w.offset = 1, nil, cutOffset{at: sdk.NoPosition}
		w.grow(5)
		w.runFor(t, time.Minute)
		if n := len(w.rows[inc("i1")]); n != 5 {
			t.Errorf("%d rows of the topic that was created again, want 5", n)
		}
		w.judge()
		if err := w.broke(); err != nil {
			t.Error(err)
		}
	})
}

// A log that was cut while nobody read it: by default the pipeline halts and
// names the place; as configured it goes on as another stream. So it does where
// the log is still shorter than what was read.
func TestDivergencePolicy(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  DivergencePolicy
		renames bool
		refill  int
		halts   string // in the error; empty: it goes on
	}{
		{"halts", DivergenceFail, true, 10, `from position 6 on`},
		{"halts, and the log is short", DivergenceFail, true, 2, `from position 6 on`},
		{"goes on", DivergenceNewIncarnation, true, 10, ""},
		{"goes on, and the log is short", DivergenceNewIncarnation, true, 2, ""},
		{"the source cannot", DivergenceNewIncarnation, false, 10, `from position 6 on`},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := calmWorld(true)
				w.grow(10)
				w.runFor(t, time.Minute)
				w.cut(6, c.refill)
				cfg := w.config()
				cfg.OnDivergence, cfg.SourceCaps.Renames = c.policy, c.renames
				p := New(cfg)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := p.Run(ctx)
				if c.halts != "" {
					if err == nil || !strings.Contains(err.Error(), c.halts) || !strings.Contains(err.Error(), `on_divergence = "new_incarnation"`) || len(w.rows[inc("i0")]) != 10 {
						t.Errorf("%v, %d rows", err, len(w.rows[inc("i0")]))
					}
					return
				}
				if err != nil || p.Status().Alarms != 1 {
					t.Errorf("%v, %d alarms", err, p.Status().Alarms)
				}
				if old, anew := len(w.rows[inc("i0")]), len(w.rows[inc("i0~1")]); old != 10 || anew != c.refill {
					t.Errorf("%d rows of the old log and %d of the new, want 10 and %d", old, anew, c.refill)
				}
				if want := (cutOffset{at: int64(6 + c.refill), inc: "i0~1", marked: true}); w.offset != want {
					t.Errorf("committed %+v, want %+v", w.offset, want)
				}
				w.judge()
				if err := w.broke(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A sink that keeps no coverage: the name goes on with what is committed.
func TestCutWithoutAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := calmWorld(true)
		w.grow(10)
		run := func(f func()) {
			cfg := w.config()
			cfg.SinkCaps, cfg.OnGap = sdk.Capabilities{Durable: true}, GapContinue
			p := New(cfg)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			time.AfterFunc(20*time.Second, f)
			if err := p.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		run(func() { // seen while it is read
			w.cut(6, 3)
			time.Sleep(10 * time.Second)
			w.mu.Lock() // more than can be read in time
			w.first = 30
			w.log = append(w.log, slices.Repeat([]int32{w.epoch}, 41)...)
			w.mu.Unlock()
		})
		run(func() { w.grow(3) })
		if old, anew := len(w.rows[inc("i0")]), len(w.rows[inc("i0~1")]); old != 10 || anew != 3+20+3 {
			t.Errorf("%d rows of the old log and %d of the new, want 10 and 26", old, anew)
		}
		if want := (cutOffset{at: 53, inc: "i0~1", marked: true}); w.offset != want {
			t.Errorf("committed %+v, want %+v", w.offset, want)
		}
	})
}
