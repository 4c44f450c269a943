package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/flow"
	"github.com/twg-io/twg/sdk"
)

// hung is what a watchdog said at the end.
type hung struct {
	at    atomic.Int64 // nanoseconds after the loop began to hang
	times atomic.Int64
	began time.Time
	log   said
}

// said is a log that counts. Who writes waits while full is held: a mutex would
// keep virtual time from passing.
type said struct {
	full  chan struct{}
	mu    sync.Mutex
	lines []string
}

func (s *said) Enabled(context.Context, slog.Level) bool { return true }
func (s *said) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s *said) WithGroup(string) slog.Handler            { return s }
func (s *said) Handle(_ context.Context, r slog.Record) error {
	s.full <- struct{}{}
	defer func() { <-s.full }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, r.Message)
	return nil
}

func (s *said) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

// watched runs f beside a pipeline that has caught up, with a watchdog.
func watched(t *testing.T, f func(*rig, *hung)) {
	t.Helper()
	src := &loadSource{parts: 1, records: 100, perPart: 10, size: bytesEach(10)}
	h := &hung{}
	underLoad(t, src, func(_ *rig, cfg *Config) {
		h.log.full = make(chan struct{}, 1)
		cfg.Logger = slog.New(&h.log)
		cfg.FlowControl.Hung = func(err error) {
			if errors.Is(err, ErrHung) {
				h.at.Store(int64(time.Since(h.began)))
				h.times.Add(1)
			}
		}
	}, func(r *rig) {
		r.caughtUp(time.Minute)
		h.began = time.Now()
		f(r, h)
	})
}

// hang blocks the loop until the returned function is called.
func (r *rig) hang() (goOn func()) {
	block := make(chan struct{})
	r.p.box.post(func() { <-block })
	return func() { close(block) }
}

// A loop that hangs is warned of, then unhealthy, then the end, each at its
// time; the loop itself is not asked.
func TestHungLoopEnds(t *testing.T) {
	watched(t, func(r *rig, h *hung) {
		goOn := r.hang()
		for _, step := range []struct {
			until time.Duration
			want  flow.Level
		}{{14 * time.Second, flow.Moving}, {17 * time.Second, flow.Suspected}, {58 * time.Second, flow.Suspected},
			{62 * time.Second, flow.Unhealthy}, {298 * time.Second, flow.Unhealthy}, {302 * time.Second, flow.Hopeless}} {
			r.pass(step.until - time.Since(h.began))
			if got, silent := r.p.Hang(); got != step.want {
				t.Errorf("after %s: %s (silent for %s), want %s", step.until, got, silent, step.want)
			}
		}
		if at := time.Duration(h.at.Load()); h.times.Load() != 1 || at < 5*time.Minute || at > 5*time.Minute+2*flow.HangLook {
			t.Errorf("ended %d times, after %s", h.times.Load(), at)
		}
		if a, b := h.log.count("no sign of life"), h.log.count("seems to hang"); a != 1 || b != 1 {
			t.Errorf("%d warnings, %d errors", a, b)
		}
		goOn()
		r.pass(2 * flow.HangLook)
		if got, silent := r.p.Hang(); got != flow.Moving || silent != 0 || h.log.count("the loop goes on") != 1 {
			t.Errorf("it goes on, and is %s after %s", got, silent)
		}
	})
}

// A log that nobody reads is one way to hang. It does not stop the watchdog.
func TestHungInItsLog(t *testing.T) {
	watched(t, func(r *rig, h *hung) {
		h.log.full <- struct{}{}
		r.p.box.post(func() { r.p.log.Info("never written") })
		r.pass(5*time.Minute + 2*flow.HangLook)
		if h.times.Load() != 1 {
			t.Errorf("ended %d times", h.times.Load())
		}
		<-h.log.full
	})
}

// Half an hour of work that comes in pieces, each just below the warning, is
// busy; so is a pipeline that has nothing to do, with a clock that turns once
// a second.
func TestBusyLoopDoesNotHang(t *testing.T) {
	watched(t, func(r *rig, h *hung) {
		for range 150 {
			r.p.box.post(func() { time.Sleep(12 * time.Second) })
		}
		for range 60 {
			r.pass(time.Minute)
			if got, silent := r.p.Hang(); got != flow.Moving {
				t.Fatalf("%s after %s", got, silent)
			}
		}
		if n := h.log.count("sign of life") + int(h.times.Load()); n != 0 {
			t.Errorf("said %d times", n)
		}
	})
}

// A host that only recovers has another loop, which turns only if something is
// to do.
func TestRecoveringHostIsWatched(t *testing.T) {
	watchedRecovery(t, func(p *Pipeline, h *hung) {
		time.Sleep(time.Hour)
		if got, silent := p.Hang(); got != flow.Moving || silent > 2*flow.HangLook {
			t.Errorf("%s after %s without work", got, silent)
		}
		h.began = time.Now()
		block := make(chan struct{})
		p.box.post(func() { <-block })
		time.Sleep(5*time.Minute + 2*flow.HangLook)
		if h.times.Load() != 1 {
			t.Errorf("ended %d times", h.times.Load())
		}
		close(block)
	})
}

// A stop that closes what is open for as long as it may does not hang; one that
// goes on for longer does.
func TestClosingHasLeave(t *testing.T) {
	for name, c := range map[string]struct {
		closes time.Duration
		want   int64
	}{"in time": {10 * time.Minute, 0}, "never": {17 * time.Minute, 1}} {
		t.Run(name, func(t *testing.T) {
			src := &loadSource{parts: 1, records: 100, perPart: 10, size: bytesEach(10)}
			h := &hung{}
			underLoad(t, src, func(r *rig, cfg *Config) {
				cfg.ShutdownTimeout = 10 * time.Minute
				cfg.FlowControl.Hung = func(error) { h.times.Add(1) }
				cfg.Sink = deafSink{r.sink, c.closes}
			}, func(r *rig) {
				r.caughtUp(time.Minute)
				r.cancel()
				r.pass(20 * time.Minute)
			})
			if got := h.times.Load(); got != c.want {
				t.Errorf("ended %d times, want %d", got, c.want)
			}
		})
	}
}

// deafSink is one whose sessions take their time to close, whoever gives
// up on them.
type deafSink struct {
	*loadSink
	closes time.Duration
}

type deafWriter struct {
	sdk.Writer
	closes time.Duration
}

func (s deafSink) Open(ctx context.Context, ses sdk.Session) (sdk.Writer, error) {
	w, err := s.loadSink.Open(ctx, ses)
	return deafWriter{w, s.closes}, err
}

func (w deafWriter) Close(ctx context.Context) error {
	time.Sleep(w.closes)
	return w.Writer.Close(ctx)
}

// emptyRaw is a raw sink of which nothing is to be rebuilt.
type emptyRaw struct{ recoverable }

func (emptyRaw) Streams(context.Context) ([]sdk.Stream, error) { return nil, nil }
func (emptyRaw) Floors(context.Context, string, []sdk.Stream) ([]sdk.Floors, error) {
	return nil, nil
}
func (emptyRaw) PlanWindows(context.Context, string, []sdk.RecoveryWindow) ([]sdk.RecoveryWindow, error) {
	return nil, nil
}
func (emptyRaw) Windows(context.Context, string) ([]sdk.RecoveryWindow, error) { return nil, nil }
func (emptyRaw) ClaimWindow(context.Context, sdk.WindowClaim) (*sdk.RecoveryWindow, error) {
	return nil, nil
}
func (emptyRaw) Replay(context.Context, sdk.Window, func(*sdk.Batch) error) ([]sdk.Span, error) {
	return nil, nil
}

// watchedRecovery runs f beside a host that only recovers.
func watchedRecovery(t *testing.T, f func(*Pipeline, *hung)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &hung{}
		cfg := Config{Name: "p", Owner: "me", Role: RoleRecovery, SinkCaps: storeCaps, Logger: quiet(),
			Sink:        emptyRaw{recoverable{&loadSink{fakeSink: &fakeSink{store: newStore()}}, notAsked{}}},
			Secondaries: []Secondary{{Name: "lake", Recovery: &deadSecondary{}}}}
		cfg.FlowControl.Hung = func(error) { h.times.Add(1) }
		p := New(cfg)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		f(p, h)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
