package main

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/host/recovery"
	"github.com/twg-io/twg/sdk"
	"github.com/twg-io/twg/sdk/coverage"
)

// workerRecoverer is the product's recoverer.
type workerRecoverer struct{ recoverParts }

func newRecoverer(p recoverParts) recoverer { return workerRecoverer{p} }

// Recover implements recoverer. A second signal ends the process, so a graceful
// stop needs no time limit of its own.
func (r workerRecoverer) Recover(ctx context.Context, req recoverRequest, progress func(recoverResult)) (recoverResult, error) {
	s, err := r.standing(ctx, req)
	if err != nil || len(s.streams) == 0 {
		return recoverResult{}, err
	}
	if req.orphans {
		if err := r.adopt(ctx, s); err != nil {
			return recoverResult{}, err
		}
	}
	stop := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(stop) })()
	work := context.WithoutCancel(ctx)
	job := &recovering{workerRecoverer: r, request: req, streams: s.streams, stop: stop, worker: r.worker(stop)}
	shown, end := context.WithCancel(work)
	var wg sync.WaitGroup
	wg.Go(func() { job.report(shown, progress) })
	err = job.run(work)
	end()
	wg.Wait()
	result, more := job.result(work)
	if err == nil {
		err = more
	}
	return result, err
}

func (r workerRecoverer) standing(ctx context.Context, req recoverRequest) (*standing, error) {
	return readStanding(ctx, r.store, []string{r.lane}, req.streams)
}

func (r workerRecoverer) worker(stop <-chan struct{}) *recovery.Worker {
	c := r.recovery
	return recovery.New(recovery.Config{
		Lane: r.lane, Pipeline: r.pipeline, Owner: r.owner, Raw: r.raw, Store: r.store, Sink: r.sink, DurableFlush: r.caps.FlushesLater(), Limits: r.limits,
		WindowRows: c.WindowRows, WindowDuration: c.WindowDuration, LeaseTTL: c.LeaseTTL, Budget: c.Budget, Interval: c.Interval,
		Attempts: r.attempts, Stop: stop, Logger: r.log,
		Alarm: func(text string) { r.log.Error("ALARM: " + text) },
	})
}

// adopt takes over the streams of which something lies above the live floor,
// where only an owner could deliver it, and sets their floor to raw's first
// hole. The epoch comes first: from then on nobody else adds to raw.
func (r workerRecoverer) adopt(ctx context.Context, s *standing) error {
	var orphans []sdk.Stream
	for _, l := range s.lanes[0].streams {
		if positions(l.missing) > positions(below(l.missing, l.liveFloor)) {
			orphans = append(orphans, l.stream)
		}
	}
	if len(orphans) == 0 {
		return nil
	}
	acquired, err := r.store.Acquire(ctx, r.owner, orphans)
	if err != nil {
		return err
	}
	raw, err := r.store.Coverage(ctx, sdk.LaneRaw, orphans)
	if err != nil {
		return err
	}
	holes := map[sdk.Stream]int64{}
	for _, c := range raw {
		holes[c.Stream] = c.Set.FirstHole()
	}
	records := make([]sdk.CoverageRecord, len(acquired))
	for i, a := range acquired {
		records[i] = sdk.CoverageRecord{Stream: a.Stream, Epoch: a.Epoch, LiveFloor: holes[a.Stream]}
		r.log.Info("a stream was taken over", "stream", a.Stream.String(), "from", orDash(a.Previous))
	}
	return r.store.Record(ctx, r.lane, records)
}

// recovering is one request at work.
type recovering struct {
	workerRecoverer
	request recoverRequest
	streams []sdk.Stream
	stop    <-chan struct{}
	worker  *recovery.Worker
	windows int // owned by run until it has returned
}

// run works until nothing of the request is missing, or until three leases have
// passed in which nothing could be done: whoever held a window had time.
func (j *recovering) run(ctx context.Context) error {
	defer func() { j.worker.Close(context.WithoutCancel(ctx)) }()
	o := recovery.Options{WindowRows: j.recovery.WindowRows, Within: coverage.Interval{From: j.request.from, Next: j.request.to}, RetrySetAside: j.request.retryRejected}
	for quiet := time.Now(); ; {
		n, err := j.worker.Once(ctx, j.streams, o)
		j.windows += n
		if err != nil {
			return err
		}
		if n > 0 {
			quiet = time.Now()
		}
		// Planned once: what is refused again stays refused.
		o.RetrySetAside = false
		done, err := j.done(ctx)
		if err != nil || done || time.Since(quiet) > 3*j.recovery.LeaseTTL {
			return err
		}
		select {
		case <-j.stop:
			return nil
		case <-time.After(min(j.recovery.Interval, j.recovery.LeaseTTL/3)):
		}
	}
}

// done reports whether nothing of the request is left to recovery: neither a
// hole below the live floor nor a window that is not complete.
func (j *recovering) done(ctx context.Context) (bool, error) {
	s, err := j.standing(ctx, j.request)
	if err != nil {
		return false, err
	}
	for _, w := range s.lanes[0].windows {
		if w.State != sdk.WindowUnrecoverable && w.From < j.request.to && w.Next > j.request.from {
			return false, nil
		}
	}
	r := j.tally(s)
	return r.Left == r.Live, nil
}

// tally counts what is missing of the request.
func (j *recovering) tally(s *standing) (r recoverResult) {
	for _, l := range s.lanes[0].streams {
		missing := clip(l.missing, j.request)
		r.Left += positions(missing)
		r.Live += positions(missing) - positions(below(missing, l.liveFloor))
		r.Unrecoverable += positions(clip(l.lost, j.request))
	}
	return r
}

func clip(is []coverage.Interval, req recoverRequest) (out []coverage.Interval) {
	for _, i := range below(is, req.to) {
		if i.From = max(i.From, req.from); !i.Empty() {
			out = append(out, i)
		}
	}
	return out
}

func (j *recovering) result(ctx context.Context) (recoverResult, error) {
	b := j.worker.Backlog()
	s, err := j.standing(ctx, j.request)
	if err != nil {
		return recoverResult{Windows: j.windows, Rebuilt: b.Rebuilt, Rejected: b.SetAside, Left: b.Positions, Unrecoverable: b.Unrecoverable}, err
	}
	r := j.tally(s)
	r.Windows, r.Rebuilt, r.Rejected = j.windows, b.Rebuilt, b.SetAside
	return r, nil
}

// report tells progress until ctx ends.
func (j *recovering) report(ctx context.Context, progress func(recoverResult)) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			b := j.worker.Backlog()
			progress(recoverResult{Windows: b.Windows, Rebuilt: b.Rebuilt, Rejected: b.SetAside, Left: b.Positions})
		}
	}
}
