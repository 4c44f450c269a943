package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/twg-io/twg/host/config"
	"github.com/twg-io/twg/host/pipeline"
)

type runCmd struct {
	UntilCaughtUp  bool          `help:"End once everything that the source had at the start is durable and committed."`
	JSON           bool          `help:"Print the summary as JSON."`
	ConnectTimeout time.Duration `help:"Give up if the source or sink cannot be opened for this long after the start; 0: never." default:"30s"`
	File           string        `arg:"" help:"Pipeline file; - reads standard input."`
}

func (c *runCmd) Run(ctx context.Context, a *app) error {
	f, err := a.checkFile(ctx, c.File)
	if errors.Is(err, errInterrupted) {
		r := &run{runCmd: c, app: a, json: c.JSON}
		return errors.Join(r.interrupted(ctx), r.writeSummary())
	}
	if err != nil {
		return err
	}
	if err := f.report(a); err != nil {
		return err
	}
	r := &run{runCmd: c, app: a, secrets: f.config.Secrets, screen: newScreen(a.stderr), json: c.JSON}
	r.log = a.newLogger(r.screen, r.secrets)
	defer limitMemory(memoryCeilings(f).Host - programBytes)()
	err = r.all(ctx, f)
	return errors.Join(err, r.writeSummary())
}

// limitMemory has the collector keep to the host's ceiling that plan prints,
// without the program's own pages (INV5):
// left alone it lets garbage grow to the size of what is in use. Who sets
// GOMEMLIMIT decides instead. It returns how to undo it.
func limitMemory(ceiling int64) func() {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	before := debug.SetMemoryLimit(ceiling)
	return func() { debug.SetMemoryLimit(before) }
}

// run is the pipelines of one file, running.
type run struct {
	*runCmd
	app       *app
	secrets   *config.Secrets
	screen    *screen
	log       *slog.Logger
	json      bool
	pipelines []*pipelineRun
	memory    func() (resident, limit int64)
	lookout   *lookout // nil: nobody asks
}

// pipelineRun is one pipeline, running. err is set when it has ended.
type pipelineRun struct {
	*checkedPipeline
	pipe    *pipeline.Pipeline
	startup *startup
	err     error
	// processes are its plugins'.
	processes []pluginProcess
}

// all runs every pipeline until ctx ends, all have caught up, or one fails,
// which stops the others gracefully.
func (r *run) all(ctx context.Context, f *checkedFile) error {
	l, err := r.app.newLauncher(r.app.pluginDir(f.config), r.log)
	if err != nil {
		return &exitError{exitEnvironment, err}
	}
	onKill(l.kill)
	defer l.close()
	r.memory = memoryReader(l, f.config.MemoryLimit, r.log)
	closeAdmin, err := r.serveAdmin(ctx, f.config.Admin)
	if err != nil {
		return err
	}
	defer closeAdmin()
	defer context.AfterFunc(ctx, func() { r.log.Info("stopping gracefully; a second signal ends at once") })()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, p := range f.pipelines {
		pr, err := r.prepare(running, l, p, cancel)
		if err != nil && ctx.Err() != nil {
			return r.interrupted(ctx)
		}
		if err != nil {
			return err
		}
		r.pipelines = append(r.pipelines, pr)
	}
	if r.lookout != nil {
		for _, pr := range r.pipelines {
			r.lookout.add(pr)
		}
	}
	r.runTogether(running, cancel)
	errs := []error{r.interrupted(ctx)}
	for _, p := range r.pipelines {
		errs = append(errs, r.explain(p))
	}
	return errors.Join(errs...)
}

// interrupted is what a signal means for what was asked for: without
// --until-caught-up it ends a run as it should.
func (r *run) interrupted(ctx context.Context) error {
	if r.UntilCaughtUp && ctx.Err() != nil {
		return errors.New("stopped by a signal before everything was caught up")
	}
	return nil
}

// runTogether runs the pipelines with the progress beside them.
func (r *run) runTogether(ctx context.Context, cancel context.CancelFunc) {
	var pipelines, others sync.WaitGroup
	shown, end := context.WithCancel(context.WithoutCancel(ctx))
	p := &progress{screen: r.screen, runs: r.pipelines, secrets: r.secrets}
	if r.app.LogFormat == "json" {
		p.log = r.log
	}
	for i, pr := range r.pipelines {
		pipelines.Go(func() {
			defer r.ended(i)
			// A topic that is not there keeps nobody else from catching up.
			if pr.err = pr.pipe.Run(ctx); pr.err != nil && !errors.Is(pr.err, pipeline.ErrTopicsAbsent) {
				cancel()
			}
		})
	}
	others.Go(func() { p.run(shown) })
	for i, pr := range r.pipelines {
		others.Go(func() { pr.startup.watchSink(shown, pr.pipe.Status) })
		if r.lookout != nil {
			others.Go(func() { r.lookout.watch(shown, i) })
		}
	}
	pipelines.Wait()
	end()
	others.Wait()
}

func (r *run) ended(i int) {
	if r.lookout != nil {
		r.lookout.end(i)
	}
}

// explain returns why a pipeline ended, if it was not asked to.
func (r *run) explain(p *pipelineRun) error {
	if err := p.startup.reason(); err != nil {
		return &exitError{exitEnvironment, r.about(p, err)}
	}
	if errors.Is(p.err, pipeline.ErrTopicsAbsent) {
		return &exitError{exitEnvironment, r.about(p, p.err)}
	}
	if errors.Is(p.err, pipeline.ErrStuck) {
		return &exitError{exitStuck, r.about(p, p.err)}
	}
	if p.err != nil {
		return r.about(p, p.err)
	}
	return nil
}

func (r *run) about(p *pipelineRun, err error) error {
	text, name := r.secrets.Hide(err.Error()), fmt.Sprintf("pipeline %q", p.Name)
	if strings.HasPrefix(text, name) {
		return errors.New(text)
	}
	return fmt.Errorf("%s: %s", name, text)
}
