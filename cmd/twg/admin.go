package main

import (
	"context"
	"sync"
	"time"

	"github.com/twg-io/twg/host/admin"
	"github.com/twg-io/twg/host/admin/health"
	"github.com/twg-io/twg/host/admin/view"
	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/pipeline"
)

// lookoutEvery is how often pipelines are asked where they stand: what the
// endpoint answers is as old at most. Requests never reach a pipeline.
const lookoutEvery = time.Second

// lookout knows where a run's pipelines stand. Its methods are safe for
// concurrent use.
type lookout struct {
	started time.Time
	secrets *config.Secrets

	mu    sync.Mutex
	pipes []*looked
}

// looked is a pipeline and what it said last.
type looked struct {
	run      *pipelineRun
	status   pipeline.Status
	answered time.Time
	ended    bool
	// since is when what is wrong now was first seen, for what does not say it.
	since map[string]time.Time
}

func newLookout(secrets *config.Secrets) *lookout {
	return &lookout{started: time.Now(), secrets: secrets}
}

// add takes a pipeline that is about to run.
func (l *lookout) add(r *pipelineRun) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pipes = append(l.pipes, &looked{run: r, answered: time.Now(), since: map[string]time.Time{}})
}

// watch asks the i-th pipeline until ctx ends. One that does not answer is
// waited for: what it said before grows old, which health notices.
func (l *lookout) watch(ctx context.Context, i int) {
	tick := time.NewTicker(lookoutEvery)
	defer tick.Stop()
	for {
		s := l.pipes[i].run.pipe.Status()
		l.mu.Lock()
		p := l.pipes[i]
		p.status, p.answered = s, time.Now()
		p.date()
		l.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// end notes that the pipeline runs no more.
func (l *lookout) end(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pipes[i].ended = true
}

// date notes what is wrong now and was not before.
func (p *looked) date() {
	note := func(key string, wrong bool) {
		switch _, known := p.since[key]; {
		case !wrong:
			delete(p.since, key)
		case !known:
			p.since[key] = p.answered
		}
	}
	for _, s := range p.status.Secondaries {
		note("lane "+s.Name, s.Live.Err != nil && !s.Live.Open)
		note("recovery "+s.Name, s.Backlog.Err != nil)
	}
}

// host is what is known now.
func (l *lookout) host() view.Host {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := view.Host{At: time.Now(), Started: l.started, Version: version, Pipelines: []view.Pipeline{}}
	for _, p := range l.pipes {
		h.Pipelines = append(h.Pipelines, p.view(l.secrets))
	}
	return h
}

// serveAdmin opens the endpoint, if the file has one, and returns how to close
// it.
func (r *run) serveAdmin(ctx context.Context, c *config.Admin) (func(), error) {
	if c == nil {
		return func() {}, nil
	}
	r.lookout = newLookout(r.secrets)
	s, err := admin.Listen(ctx, admin.Config{
		Network: c.Network, Address: c.Address, Token: c.Token,
		Limits: health.Limits{UnreachableAfter: c.UnreachableAfter, MaxCommitAge: c.MaxCommitAge},
		Host:   r.lookout.host, Logger: r.log,
	})
	if err != nil {
		return nil, &exitError{exitEnvironment, err}
	}
	r.log.Info("answering for health", "address", s.Addr())
	return func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookoutEvery)
		defer cancel()
		s.Close(closing)
	}, nil
}
