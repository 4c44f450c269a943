package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/pipeline"
	"github.com/twg-io/twg/sdk"
)

// A pipeline that does not say where it stands makes nobody wait. What it said
// grows old, and the host is not ready; once it answers, all is well again. If
// its loop hangs, as in a log that nobody reads, the host is not alive after a
// minute.
func TestPipelineThatSaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, ended := fullLog{make(chan struct{})}, atomic.Int32{}
		l, pipe := lookoutFor(log, func(error) { ended.Add(1) })
		ctx, cancel := context.WithCancel(t.Context())
		watched := make(chan struct{})
		go func() { defer close(watched); l.watch(ctx, 0) }()

		verdict := func() (live, unresponsive bool) {
			h := l.host()
			for _, r := range health.Ready(&h, health.Limits{UnreachableAfter: time.Hour, MaxCommitAge: time.Hour}, time.Now()).Reasons {
				unresponsive = unresponsive || r.Code == health.Unresponsive
			}
			return health.Live(&h, time.Now()).OK, unresponsive
		}
		type expected struct {
			after            time.Duration
			live, responsive bool
		}
		expect := func(list ...expected) {
			t.Helper()
			for _, c := range list {
				time.Sleep(c.after)
				if live, unresponsive := verdict(); live != c.live || unresponsive == c.responsive {
					t.Errorf("live %v, unresponsive %v; want %+v", live, unresponsive, c)
				}
			}
		}
		expect(expected{4 * time.Second, true, true}, expected{2 * time.Second, true, false})
		done := make(chan error, 1)
		running, stop := context.WithCancel(ctx)
		defer stop()
		go func() { done <- pipe.Run(running) }() // it answers from now on
		time.Sleep(3 * time.Second)
		if live, unresponsive := verdict(); !live || unresponsive {
			t.Errorf("live %v, unresponsive %v, and it answers", live, unresponsive)
		}
		if h := l.host(); h.Pipelines[0].Records != 5 || h.Pipelines[0].Streams[0].Committed != 5 {
			t.Errorf("%+v", h.Pipelines[0])
		}
		stop() // the loop says so
		expect(expected{8 * time.Second, true, false}, expected{50 * time.Second, true, false}, expected{5 * time.Second, false, false})
		if h := l.host(); h.Pipelines[0].Hang != "unhealthy" || ended.Load() != 0 {
			t.Errorf("%q, ended %d times", h.Pipelines[0].Hang, ended.Load())
		}
		time.Sleep(5 * time.Minute)
		if ended.Load() != 1 {
			t.Errorf("ended %d times", ended.Load())
		}
		close(log.read)
		if err := <-done; err != nil {
			t.Error(err)
		}
		cancel()
		<-watched
	})
}

// lookoutFor is a lookout for a pipeline that does not run yet.
func lookoutFor(log slog.Handler, hung func(error)) (*lookout, *pipeline.Pipeline) {
	pipe := pipeline.New(pipeline.Config{Name: "p", Source: &numbers{numbersSettings{Count: 5}}, Sink: &memory{}, SinkCaps: sdk.Capabilities{Durable: true},
		Logger: slog.New(log), FlowControl: pipeline.FlowControl{Hung: hung}})
	l := newLookout(&config.Secrets{})
	l.add(&pipelineRun{pipe: pipe, checkedPipeline: &checkedPipeline{
		Pipeline: &config.Pipeline{Name: "p", Role: config.RoleBoth, MemoryBudget: 1 << 20},
		source:   &checkedPlugin{name: "numbers"}, sinks: []checkedSink{{Sink: &config.Sink{Name: "m"}}},
	}})
	return l, pipe
}

// fullLog is a log whose reader does not read what a loop says when it stops,
// until read is closed.
type fullLog struct{ read chan struct{} }

func (fullLog) Enabled(context.Context, slog.Level) bool { return true }
func (l fullLog) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l fullLog) WithGroup(string) slog.Handler          { return l }
func (l fullLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "stopping" {
		<-l.read
	}
	return nil
}

// A process that is stopped is told from one that runs, sleeps or is gone.
func TestStopped(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	until := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); stopped(pid) != want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("stopped is not %v", want)
			}
		}
	}
	until(false)
	syscall.Kill(pid, syscall.SIGSTOP)
	until(true)
	syscall.Kill(pid, syscall.SIGCONT)
	until(false)
	cmd.Process.Kill()
	cmd.Wait()
	if stopped(pid) || stopped(0) || stopped(os.Getpid()) {
		t.Error("what is gone, was never there, or runs, is called stopped")
	}
}
