package pipeline

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
)

// This file runs recovery beside the live path, or alone. It shares nothing
// with the live path but the store: its reads of raw are calls, its writes go
// to a process of their own, and it yields while the gate is busy (V1, INV9).

// newWorkers makes a worker for each secondary that this host rebuilds.
func (p *Pipeline) newWorkers() {
	store, ok := p.store.(sdk.RecoveryStore)
	raw, replays := p.cfg.Sink.(sdk.Replayer)
	if !ok || !replays || p.cfg.Role == RoleIngest {
		return
	}
	c := p.cfg.Recovery
	for _, s := range p.cfg.Secondaries {
		if s.Recovery == nil {
			continue
		}
		p.workerNames = append(p.workerNames, s.Name)
		p.workers = append(p.workers, recovery.New(recovery.Config{
			Lane: s.Name, Pipeline: p.cfg.Name, Owner: p.cfg.Owner, Raw: raw, Store: store, Sink: s.Recovery, DurableFlush: s.Caps.FlushesLater(), Limits: p.cfg.Limits,
			WindowRows: orDefault(c.WindowRows, DefaultWindowRows), WindowDuration: orDefault(c.WindowDuration, DefaultWindowDuration),
			LeaseTTL: orDefault(c.LeaseTTL, DefaultLeaseTTL), Budget: orDefault(c.Budget, DefaultRecoveryBudget),
			Interval: orDefault(c.Interval, DefaultInterval), Attempts: orDefault(s.Attempts, DefaultLaneAttempts),
			Yield: p.yieldFor, Stop: p.stopRecovery, Alarm: p.loud, Logger: p.log,
		}))
	}
}

// loud is alarm for what happens off the loop.
func (p *Pipeline) loud(text string) {
	p.box.post(func() { p.stat.Alarms++ })
	p.log.Error("ALARM: " + text)
}

// recoverOnly is Run for a host that never touches the source: until ctx ends
// or, if that is asked for, until nothing is missing any more.
func (p *Pipeline) recoverOnly(ctx context.Context) error {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	if p.cfg.UntilCaughtUp {
		return p.catchUpSecondaries(ctx)
	}
	var wg sync.WaitGroup
	for _, w := range p.workers {
		wg.Go(func() { w.Run(work) })
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	stop := ctx.Done()
	for {
		select {
		case <-p.box.wake:
			p.serve()
		case <-stop:
			stop = nil
			close(p.stopRecovery)
			defer time.AfterFunc(p.cfg.ShutdownTimeout, cancel).Stop()
		case <-ended:
			p.snapshot()
			return nil
		}
	}
}

// serve does what was posted. Each piece that is done is a sign of life: with
// very much to do a loop is busy, and does not hang.
func (p *Pipeline) serve() {
	for _, f := range p.box.take() {
		f()
		p.dog.beats.Add(1)
	}
}

// catchUpSecondaries rebuilds what is missing now. When ctx ends it stops in
// good order. The gate's work is done: what a secondary still misses is
// reported, and recovery's for later.
func (p *Pipeline) catchUpSecondaries(ctx context.Context) error {
	if ctx.Err() != nil || len(p.workers) == 0 {
		return nil
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	results := make(chan error, len(p.workers))
	for _, w := range p.workers {
		p.goRun(func() {
			_, err := w.All(work)
			results <- err
		})
	}
	stop, failed := ctx.Done(), []error(nil)
	for range p.workers {
		for waiting := true; waiting; {
			select {
			case <-p.box.wake:
				p.serve()
			case <-stop:
				stop = nil
				close(p.stopRecovery)
				defer time.AfterFunc(p.cfg.ShutdownTimeout, cancel).Stop()
			case err := <-results:
				failed, waiting = append(failed, err), false
			}
		}
	}
	p.snapshot()
	return errors.Join(failed...)
}
