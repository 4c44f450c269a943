package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twg-io/twg/host/flow"
)

// ErrHung: the loop gives no sign of life any more. That is a bug of twg, and
// only another process does better.
var ErrHung = errors.New("the pipeline's loop hangs")

// watchdog looks at the loop from outside of it. The loop looks for everything
// else that may be stuck, and falls silent with it.
type watchdog struct {
	beats  atomic.Uint64 // of the loop: what was posted and is done
	leave  atomic.Int64  // how much longer than usual it may be silent
	level  atomic.Uint32 // flow.Level
	silent atomic.Int64
}

// Hang is how sure the watchdog is that the loop hangs, and how long that has
// given no sign of life. Any goroutine may ask: the loop is not asked.
func (p *Pipeline) Hang() (flow.Level, time.Duration) {
	return flow.Level(p.dog.level.Load()), time.Duration(p.dog.silent.Load())
}

// closingLeave is for what a lane records at its end: one call of the store may
// be waited for while another one has begun.
const closingLeave = time.Minute

// giveLeave: the loop is about to close what is open, which takes its time.
func (p *Pipeline) giveLeave() { p.dog.leave.Store(int64(p.cfg.ShutdownTimeout + closingLeave)) }

// watchLoop starts the watchdog, if somebody wants to know. The returned
// function ends it and waits.
func (p *Pipeline) watchLoop() (stop func()) {
	if p.cfg.FlowControl.Hung == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	said := make(chan func(), int(flow.Hopeless)+1)
	wg.Go(func() { defer close(said); p.watch(ctx, said) })
	wg.Go(func() {
		for say := range said {
			say()
		}
	})
	return func() { cancel(); wg.Wait() }
}

// watch looks at the loop until ctx ends. It never waits for a log line to be
// written, and says it in said: a log that nobody reads any more may be what
// the loop hangs in.
func (p *Pipeline) watch(ctx context.Context, said chan<- func()) {
	h, before := flow.NewHang(p.cfg.FlowControl.Hang), flow.Moving
	var asked uint64 // the loop is asked for a sign of life once at a time
	pending := false
	for pause(ctx, flow.HangLook) {
		beats := p.dog.beats.Load()
		if pending = pending && beats == asked; !pending {
			asked, pending = beats, true
			p.box.post(func() {})
		}
		silent := h.Silent()
		level := h.Look(time.Now(), beats, time.Duration(p.dog.leave.Load()))
		p.dog.level.Store(uint32(level))
		p.dog.silent.Store(int64(h.Silent()))
		if level == before {
			continue
		}
		before, silent = level, max(silent, h.Silent())
		if level == flow.Hopeless {
			p.cfg.FlowControl.Hung(fmt.Errorf("%w: it has given no sign of life for %s", ErrHung, silent.Round(time.Second)))
			continue
		}
		select {
		case said <- func() { p.sayHang(level, silent) }:
		default: // nobody gets to write the ones before
		}
	}
}

func (p *Pipeline) sayHang(level flow.Level, silent time.Duration) {
	silent = silent.Round(time.Second)
	switch level {
	case flow.Moving:
		p.log.Warn("the loop goes on", "after", silent)
	case flow.Suspected:
		p.log.Warn("the loop gives no sign of life", "for", silent)
	case flow.Unhealthy:
		p.log.Error("the loop seems to hang; if it stays so the process ends itself", "for", silent, "ends after", p.cfg.FlowControl.Hang.Exit)
	}
}
